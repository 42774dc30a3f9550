-- what: events that are about a product: viewed, added to or removed from the cart, and any other that names one
-- grain: event_id
-- refresh: at every read
select
    event_id,
    customer,
    event_type as event_kind,
    product_id,
    product_title,
    variant_id,
    price,
    coalesce(nullif(upper(trim(stg_events.currency_code)), ''), params.currency_code) as currency_code,
    quantity,
    occurred_at
from stg_events, params
where product_id is not null
    or event_type in ('product_viewed', 'product_added_to_cart', 'product_removed_from_cart')
