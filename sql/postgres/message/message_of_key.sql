-- By its key ($2), or by the one of an earlier version ($3), whose text ($4) tells it from others with the gateway's id; of
-- somebody who was erased neither is kept.
select id
from message
where
    brand_id = $1
    and (
        idempotency_key in ($2, erased_id($1, $2), erased_id($1, $3))
        or idempotency_key = $3 and body = $4
    )
limit 1
