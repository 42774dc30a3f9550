-- With the order that completed it, where that is known.
select
    checkout.external_id, coalesce(checkout.subject, 0) as subject, checkout.total::text as total, checkout.currency_code, url,
    cart_id, completed_at, items, first_order.external_id as order_id, first_order.number as order_number,
    first_order.discount_codes[1] as discount_code
from checkout
left join lateral (
    select external_id, number, discount_codes
    from store_order
    where brand_id = $1 and checkout_external_id = checkout.external_id and not test
    order by created_at, external_id
    limit 1
) as first_order on true
where checkout.brand_id = $1 and checkout.external_id = any($2::text[]) and checkout.state = 'recovered'
