select
    id, contact_id, campaign_id, status, channel, goal_until, last_message_at, created_at, updated_at, checkout_id,
    checkout_state, checkout_total, checkout_currency_code, checkout_url, order_id, recovered_amount, recovered_currency_code
from conversation_shown
where brand_id = $1 and id = $2
