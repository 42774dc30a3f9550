-- Which of the checkouts $2 and the orders $3 there are, by the store's ids. All of an order is on its way when the store
-- says so; of a store that does not say, when everything that was sent off is, and nothing is held back.
select 'checkout' as kind, external_id as id, null::text as number, null::boolean as is_shipped
from checkout
where brand_id = $1 and external_id = any($2::text[]) and not deleted
union all
select
    'order' as kind, placed.external_id as id, placed.number,
    coalesce(
        placed.fulfillment_status = 'fulfilled',
        (
            select bool_and(status = 'success')
            from fulfillment
            where
                fulfillment.brand_id = placed.brand_id
                and order_external_id = placed.external_id
                and status not in ('cancelled', 'error', 'failure')
        )
    ) as is_shipped
from store_order as placed
where placed.brand_id = $1 and placed.external_id = any($3::text[]) and not placed.deleted and not placed.test
