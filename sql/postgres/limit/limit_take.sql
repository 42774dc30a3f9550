-- One call of a bucket whose calls are $2 ms apart and which holds $3 ms of them. Refused, it would have to wait for
-- wait_ms at least; no row, or one with no wait, when another call changed the bucket while this one looked.
with taken as (
    insert into rate_limit as bucket (key, full_at)
    values ($1, now() + $2::float8 * interval '1 millisecond')
    on conflict (key) do update
    set full_at = greatest(bucket.full_at, now()) + $2::float8 * interval '1 millisecond'
    where greatest(bucket.full_at, now()) + ($2::float8 - $3::float8) * interval '1 millisecond' <= now()
    returning true as admitted
)

select admitted, 0::float8 as wait_ms from taken
union all
select false, extract(epoch from full_at - now())::float8 * 1000 + $2::float8 - $3::float8
from rate_limit
where key = $1 and not exists (select from taken)
