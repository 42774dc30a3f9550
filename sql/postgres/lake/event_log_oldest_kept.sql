-- The first day that the lake awaits batches of, or has not held for so many days.
select least($1::text::date, min(day)::date)::text as first_kept
from generate_series((now() at time zone 'UTC')::date - 60, (now() at time zone 'UTC')::date, interval '1 day') as day
left join event_log_day using (day)
where in_lake_since is null or in_lake_since > now() - make_interval(days => $2::integer)
