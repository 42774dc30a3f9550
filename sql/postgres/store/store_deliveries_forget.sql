-- The oldest ones, of whatever brand: older than $1 days, at most $2.
delete from store_delivery
where
    (brand_id, webhook_id) in (
        select brand_id, webhook_id
        from store_delivery
        where received_at < now() - make_interval(days => $1)
        order by received_at
        limit $2
    )
