-- A checkout is completed once it has an order, and recovered when its shopper had been messaged before: who is messaging
-- them now is waited for. $2: external ids, $3: their items as JSON, $4: their carts, null where nothing new is known.
with given as (
    select *
    from unnest($2::text[], $3::text[], $4::text[]) as given (external_id, items, cart_id)
),

ordered as (
    select checkout_external_id, min(created_at) as created_at
    from store_order
    where brand_id = $1 and checkout_external_id = any($2::text[]) and not test
    group by checkout_external_id
),

known as materialized (
    select
        started.external_id,
        coalesce(given.items::jsonb, started.items) as items,
        case when given.items is null then started.empty else given.items::jsonb = '[]' and started.total = 0 end as empty,
        coalesce(given.cart_id, started.cart_id) as cart_id,
        started.abandoned_at,
        started.messaged_at,
        coalesce(started.completed_at, ordered.created_at) as completed_at
    from given
    join checkout as started on started.brand_id = $1 and started.external_id = given.external_id
    left join ordered on ordered.checkout_external_id = given.external_id
    order by started.id
    for no key update of started
),

settled as (
    select
        *,
        case
            when completed_at > messaged_at then 'recovered'
            when completed_at is not null then 'completed'
            when abandoned_at is not null then 'abandoned'
            else 'open'
        end as state
    from known
)

update checkout
set
    items = settled.items,
    empty = settled.empty,
    cart_id = settled.cart_id,
    completed_at = settled.completed_at,
    state = settled.state
from settled
where
    checkout.brand_id = $1
    and checkout.external_id = settled.external_id
    and (checkout.items, checkout.empty, checkout.cart_id, checkout.completed_at, checkout.state)
    is distinct from (settled.items, settled.empty, settled.cart_id, settled.completed_at, settled.state)
