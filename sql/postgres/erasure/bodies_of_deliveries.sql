-- Those behind $3, as many as come to about $4 bytes.
with next as (
    select webhook_id as id, payload as body
    from store_delivery
    where brand_id = $1 and received_at <= $2 and payload is not null and webhook_id > coalesce($3::text, '')
    order by webhook_id
    limit 500
),

counted as (
    select id, body, sum(octet_length(body)) over (order by id) - octet_length(body) as before
    from next
)

select id, body
from counted
where before < $4
order by id
