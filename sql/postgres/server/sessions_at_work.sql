-- Of these processes of Postgres ($1) those that are at work, and the one that says so. One that waits for its client, or
-- that has nothing to do, is not; one of which nothing more is known is.
select pid
from pg_stat_activity
where
    pid = pg_backend_pid()
    or (
        pid = any($1::text::integer[])
        and not coalesce(state like 'idle%' or wait_event_type = 'Client', false)
    )
