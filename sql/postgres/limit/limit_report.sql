-- Adds calls that processes have admitted, as ms, to their buckets; answers when these are full again.
insert into rate_limit as bucket (key, full_at)
select key, now() + ms * interval '1 millisecond'
from unnest($1::uuid[], $2::float8[]) as reported (key, ms)
order by key
on conflict (key) do update
set full_at = greatest(bucket.full_at, now()) + (excluded.full_at - now())
returning key, extract(epoch from full_at - now())::float8 * 1000 as full_in_ms
