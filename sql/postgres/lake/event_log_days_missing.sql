-- Days from today on that have no partition yet, and days that batches of stand in the default one.
select day::date::text as day
from generate_series((now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + $1::integer, interval '1 day') as day
where to_regclass('event_log_' || to_char(day, 'YYYYMMDD')) is null
union
select (received_at at time zone 'UTC')::date::text
from event_log_default
order by day
