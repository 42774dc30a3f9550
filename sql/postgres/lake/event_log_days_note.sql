-- Of days that ended an hour ago or earlier, those before the first that the lake awaits batches of.
insert into event_log_day (day)
select day::date
from generate_series(
    (now() at time zone 'UTC')::date - 60,
    least($1::text::date, (now() at time zone 'UTC' - interval '1 hour')::date) - 1,
    interval '1 day'
) as day
on conflict (day) do nothing
