-- Conversations with messages about a topic ($2), each with the newest of these, behind a place ($3, $4).
with newest as (
    select distinct on (conversation_id) brand_id, conversation_id, message_id, at
    from insight_message
    where brand_id = $1 and insight_id = $2
    order by conversation_id, at desc, message_id desc
)

select
    conversation_shown.id, conversation_shown.contact_id, campaign_id, conversation_shown.status,
    conversation_shown.channel, goal_until, last_message_at, conversation_shown.created_at, updated_at, checkout_id,
    checkout_state, checkout_total, checkout_currency_code, checkout_url, order_id, recovered_amount,
    recovered_currency_code, message_id,
    message.body, message.created_at as said_at,
    to_char(newest.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as said_at_exact
from newest
join conversation_shown on conversation_shown.brand_id = newest.brand_id and conversation_shown.id = newest.conversation_id
join message on message.brand_id = newest.brand_id and message.id = message_id
where $3::timestamptz is null or (newest.at, message_id) < ($3::timestamptz, $4::uuid)
order by newest.at desc, message_id desc
limit $5
