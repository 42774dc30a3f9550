-- The first day to keep: seven days back, and never past a batch that the lake does not hold yet.
select least(
    (now() at time zone 'UTC')::date - $1::integer,
    (
        select (min(received_at) at time zone 'UTC')::date
        from event_log
        where xid >= (select exported_below from lake_state)
    )
)::text as first_kept
