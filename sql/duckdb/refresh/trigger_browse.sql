-- Products that customers looked at last, of those who did nothing more for $3 minutes; not visitors, whom anybody can
-- make up and nobody can write to. $1, $2: after and until when these passed, since the view or since it came in: pages of
-- who was offline send theirs up to a day later, and clocks are behind.
with lately as (
    select *
    from stg_events
    where occurred_at > $1::timestamp - to_minutes($3::bigint) - to_days(1) and occurred_at <= $2::timestamp
),

-- Whole rows, so that nothing of an earlier view stands in for what the last one does not say; of views at one instant
-- always the same one.
viewed as (
    select
        customer,
        occurred_at as at,
        received_at,
        product_id,
        product_title,
        variant_id,
        price,
        currency_code
    from lately
    where event_type = 'product_viewed' and product_id is not null
    qualify row_number() over (partition by customer order by occurred_at desc, event_id desc) = 1
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
    product.title,
    viewed.at,
    strftime(timezone(params.timezone, timezone('UTC', viewed.at)), '%Y-%m-%d') as day
from viewed
inner join customers using (customer)
left join acted using (customer)
left join stg_products as product using (product_id)
cross join params
where
    customers.provenance <> 'pixel'
    and viewed.at <= $2::timestamp - to_minutes($3::bigint)
    and (
        viewed.at > $1::timestamp - to_minutes($3::bigint)
        or (
            viewed.received_at > $1::timestamp - to_minutes($3::bigint)
            and viewed.received_at <= $2::timestamp - to_minutes($3::bigint)
        )
    )
    and (acted.at is null or acted.at < viewed.at)
