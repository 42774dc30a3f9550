-- Days from today on that have no partition yet, and days that batches of stand in the default one. Those of today and later
-- come first: until today has its own, what is received goes on into the default one, and waits while a day moves out of it.
select day::text as day
from (
    select day::date as day
    from
        generate_series(
            (now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + $1::integer, interval '1 day'
        ) as day
    where to_regclass('event_log_' || to_char(day, 'YYYYMMDD')) is null
    union
    select (received_at at time zone 'UTC')::date
    from event_log_default
) as missing
order by day < (now() at time zone 'UTC')::date, day
