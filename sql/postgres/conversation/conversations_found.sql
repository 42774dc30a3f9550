select
    conversation_shown.id, contact_id, campaign_id, status, channel, goal_until, last_message_at, conversation_shown.created_at, updated_at, checkout_id,
    checkout_state, checkout_total, checkout_currency_code, checkout_url, order_id, recovered_amount, recovered_currency_code,
    message_id, found.body, found.created_at as said_at
from search_messages($1, $2, $3) as found
join conversation_shown on conversation_shown.id = conversation_id
where brand_id = $1
order by found.created_at desc, message_id desc
