-- Those behind $3, as many as come to about $4 bytes.
with next as (
    select id, convert_to(content::text, 'UTF8') as body
    from store_event
    where brand_id = $1 and created_at <= $2 and content is not null and id > coalesce($3::text, '')
    order by id
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
