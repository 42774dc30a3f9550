-- The oldest ones, of whatever brand: older than $1 days, at most $2.
delete from custom_delivery
where
    (brand_id, provider_id, event_id) in (
        select brand_id, provider_id, event_id
        from custom_delivery
        where received_at < now() - make_interval(days => $1)
        order by received_at
        limit $2
    )
