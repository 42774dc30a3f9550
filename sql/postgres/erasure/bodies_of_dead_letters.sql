-- Those behind $3, as many as come to about $4 bytes.
with next as (
    select id, body
    from dead_letter
    where
        brand_id = $1
        and received_at <= $2
        and body <> ''
        and id > coalesce($3::text::uuid, '00000000-0000-0000-0000-000000000000')
    order by id
    limit 500
),

counted as (
    select id, body, sum(octet_length(body)) over (order by id) - octet_length(body) as before
    from next
)

select id::text as id, body
from counted
where before < $4
order by counted.id
