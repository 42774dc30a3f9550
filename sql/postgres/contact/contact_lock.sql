-- One transaction at a time per channel, in one order, so that two never wait for each other.
select pg_advisory_xact_lock(key)
from (
    select distinct hashtextextended($1::uuid::text || ' ' || channel, 0) as key
    from unnest($2::text[]) as channel
    order by key
) as channels
