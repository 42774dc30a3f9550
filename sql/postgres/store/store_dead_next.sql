-- The next ones behind a place ($2, $3) whose body is kept, oldest first: as many as come to about $4 bytes. The position
-- is a text, since a date of the program knows no microseconds.
with next as (
    select webhook_id, topic, triggered_at, received_at, payload
    from store_delivery
    where brand_id = $1 and payload is not null and (received_at, webhook_id) > ($2::text::timestamptz, $3::text)
    order by received_at, webhook_id
    limit 500
),

counted as (
    select next.*, sum(octet_length(payload)) over (order by received_at, webhook_id) - octet_length(payload) as before
    from next
)

select webhook_id, topic, triggered_at, received_at, payload, received_at::text as position
from counted
where before < $4
order by received_at, webhook_id
