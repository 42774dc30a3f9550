-- The oldest ones, of whatever brand: older than $1 days, at most $2.
delete from store_cart
where
    (brand_id, external_id) in (
        select brand_id, external_id
        from store_cart
        where created_at < now() - make_interval(days => $1)
        order by created_at
        limit $2
    )
