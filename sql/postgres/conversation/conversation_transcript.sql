-- The newest messages of conversation $2, oldest first. $3: at most so many.
select direction, body
from (
    select direction, body, created_at, id
    from message
    where brand_id = $1 and conversation_id = $2 and status <> 'failed' and body <> ''
    order by created_at desc, id desc
    limit $3
) as newest
order by created_at, id
