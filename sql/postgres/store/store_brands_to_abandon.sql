-- Brands with checkouts that nobody came back to for the brand's time. $1: now.
select brand_id
from store_connection
where
    status <> 'disconnected'
    and coalesce(store_awaited_until(brand_id) <= $1::timestamptz, true)
    and exists (
        select
        from checkout
        where
            checkout.brand_id = store_connection.brand_id
            and state = 'open'
            and subject is not null
            and not deleted
            and not empty
            and checkout.updated_at <= $1::timestamptz - make_interval(mins => abandoned_after_minutes)
    )
