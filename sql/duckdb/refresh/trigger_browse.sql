-- Products that customers looked at last, of those who did nothing more for $3 minutes. $1, $2: after and until when
-- these passed.
with lately as (
    select *
    from stg_events
    where occurred_at > $1::timestamp - to_minutes($3::bigint) and occurred_at <= $2::timestamp
),

viewed as (
    select
        customer,
        max(occurred_at) as at,
        arg_max(product_id, occurred_at) as product_id,
        arg_max(product_title, occurred_at) as product_title,
        arg_max(variant_id, occurred_at) as variant_id,
        arg_max(price, occurred_at) as price,
        arg_max(currency_code, occurred_at) as currency_code
    from lately
    where event_type = 'product_viewed' and product_id is not null
    group by customer
),

acted as (
    select
        customer,
        max(occurred_at) as at
    from lately
    where event_type in (
        'product_added_to_cart', 'cart_updated', 'checkout_started', 'checkout_contact_info_submitted',
        'checkout_completed', 'order_created'
    )
    group by customer
)

select
    viewed.customer,
    customers.customer_id,
    viewed.product_id,
    viewed.product_title,
    viewed.variant_id,
    viewed.price::varchar as price,
    viewed.currency_code,
    viewed.at,
    strftime(timezone(params.timezone, timezone('UTC', viewed.at)), '%Y-%m-%d') as day
from viewed
inner join customers using (customer)
left join acted using (customer)
cross join params
where
    viewed.at <= $2::timestamp - to_minutes($3::bigint)
    and (acted.at is null or acted.at < viewed.at)
