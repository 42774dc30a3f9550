-- The messages of a conversation ($2) in their order, behind a place ($3, $4).
select
    id, conversation_id, direction, author, channel, body, status, reason, error, created_at, sent_at, delivered_at,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at_exact
from message
where
    brand_id = $1
    and conversation_id = $2
    and not deleted
    and ($3::timestamptz is null or (created_at, id) > ($3::timestamptz, $4::uuid))
order by created_at, id
limit $5
