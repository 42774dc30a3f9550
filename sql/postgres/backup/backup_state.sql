select
    exported_below::text as exported_below,
    (select (min(received_at) at time zone 'UTC')::date::text from event_log) as first_log_day,
    (select array_agg(version order by version) from schema_migrations) as migrations
from lake_state
