-- Files of event ids that were all received earlier than what is to come is compared with: no merge takes those of the
-- highest level. How batches are found: see lake_lag.
update lake_file set retired_at = now()
where brand_id is null and relation = 'event_ids' and retired_at is null
    and created_at < now() - make_interval(days => $1::integer)
    and not exists (
        select from (
            select received_at
            from event_log
            where xid >= (select exported_below from lake_state) and xid <= '18446744073709551615'
            offset 0
        ) as waiting
        where received_at < now() - interval '1 day'
    )
