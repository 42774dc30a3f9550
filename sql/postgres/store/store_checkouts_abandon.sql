-- $2: now, $3: at most so many at once.
with due as (
    select checkout.external_id, checkout.updated_at + make_interval(mins => abandoned_after_minutes) as abandoned_at
    from store_connection
    join checkout on checkout.brand_id = $1
    where
        store_connection.brand_id = $1
        and checkout.state = 'open'
        -- One that names nobody cannot be recovered; it waits for an address.
        and checkout.subject is not null
        and not checkout.deleted
        -- With nothing in it and nothing to pay.
        and not checkout.empty
        and checkout.updated_at <= $2::timestamptz - make_interval(mins => abandoned_after_minutes)
    order by checkout.updated_at
    limit $3::integer
)

update checkout
set state = 'abandoned', abandoned_at = due.abandoned_at
from due
where checkout.brand_id = $1 and checkout.external_id = due.external_id
returning
    checkout.external_id, coalesce(subject, 0) as subject, total::text as total, currency_code, url, cart_id, items,
    checkout.abandoned_at
