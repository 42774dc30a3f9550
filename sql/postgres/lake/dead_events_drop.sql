-- The newest lines of each brand stay, as many as come to $1 bytes; of older ones, at most $3 now, the row says so ($2).
with counted as (
    select
        batch_id,
        line,
        sum(octet_length(payload)) over (
            partition by brand_id order by created_at desc, batch_id desc, line desc
        ) as bytes
    from dead_event
    where payload <> ''
),

beyond as (
    select batch_id, line
    from counted
    where bytes > $1
    limit $3
)

update dead_event
set payload = '', reason = reason || $2::text
from beyond
where dead_event.batch_id = beyond.batch_id and dead_event.line = beyond.line
