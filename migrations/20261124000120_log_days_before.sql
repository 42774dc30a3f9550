-- migrate:up

-- Days that the lake held before this was noted count from their end, as they did then: noted as of the upgrade, the log would
-- keep all of them for another week. Every day is noted where the lake has begun: one that is not keeps those after it.
insert into event_log_day (day, in_lake_since)
select day::date, (day::date + 1)::timestamp at time zone 'UTC'
from lake_state
cross join lateral (
    select least(min(received_at), now() - interval '1 hour') as awaited
    from event_log
    where xid >= exported_below
) as log
cross join lateral generate_series(
    (now() at time zone 'UTC')::date - 60, (awaited at time zone 'UTC')::date - 1, interval '1 day'
) as day
where tick > 0
on conflict (day) do nothing;

-- migrate:down
