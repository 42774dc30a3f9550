-- The platform repeats a webhook for two days at most; what was told of a version is told once and not again after a
-- month. Events about an order, of which there is one each, stay noted. $1: now.
with deliveries as (
    delete from store_delivery
    where received_at < $1::timestamptz - interval '30 days'
    returning 1
),

carts as (
    delete from store_cart
    where created_at < $1::timestamptz - interval '60 days'
    returning 1
),

events as (
    delete from store_event
    where
        created_at < $1::timestamptz - interval '60 days'
        and split_part(id, ':', 1) in ('cart_updated', 'customer_updated', 'consent_updated', 'fulfillment_updated')
    returning 1
)

select
    (select count(*) from deliveries) as deliveries,
    (select count(*) from carts) as carts,
    (select count(*) from events) as events
