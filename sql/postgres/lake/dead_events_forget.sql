-- Of whatever brand: older than $1 days, at most $2.
delete from dead_event
where
    (batch_id, line) in (
        select batch_id, line
        from dead_event
        where created_at < now() - make_interval(days => $1)
        order by created_at
        limit $2
    )
