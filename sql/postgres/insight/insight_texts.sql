-- The newest messages that came in since $2, at most $3.
select id, conversation_id, contact_id, body
from message
where brand_id = $1 and direction = 'inbound' and created_at > $2::timestamptz and not deleted and body <> ''
order by created_at desc, id desc
limit $3
