-- Those behind $3, as many as come to about $4 bytes; also lines of which nobody can tell whose they are.
with next as (
    select batch_id, line, payload as body
    from dead_event
    where
        (brand_id = $1 or brand_id is null)
        and $2::timestamptz is not null
        and (batch_id, line) > (
            coalesce(split_part($3::text, ' ', 1)::uuid, '00000000-0000-0000-0000-000000000000'),
            coalesce(split_part($3::text, ' ', 2)::integer, -1)
        )
    order by batch_id, line
    limit 500
),

counted as (
    select next.*, sum(octet_length(body)) over (order by batch_id, line) - octet_length(body) as before
    from next
)

select batch_id || ' ' || line as id, body
from counted
where before < $4
order by batch_id, line
