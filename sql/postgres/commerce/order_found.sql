-- The order with our id or the store's, as it is now, under the customer whom it belongs to now. Email and phone are the
-- customer's own, else those of the oldest profile that was merged into it, as in the model stg_customers; of a customer
-- whom the store removed there are none.
with found as (
    select store_order.*, coalesce(redirect.customer, store_order.subject) as customer
    from store_order
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = store_order.subject and not redirect.deleted
    where
        store_order.brand_id = $1
        and (
            store_order.external_id in ($2, $3)
            or store_order.id = case when $2 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $2::uuid end
        )
        and not store_order.deleted
        and not store_order.test
    -- An id of ours counts before one that a store chose like it.
    order by store_order.external_id in ($2, $3), store_order.external_id = $2
    limit 1
),

merged as (
    select
        (array_agg(profile.email order by profile.subject) filter (where profile.email is not null))[1] as email,
        (array_agg(profile.phone order by profile.subject) filter (where profile.phone is not null))[1] as phone
    from found
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = found.customer and not redirect.deleted
    join customer as profile
        on profile.brand_id = $1 and profile.subject = redirect.subject and profile.provenance <> 'pixel' and not profile.deleted
)

select
    found.id, external_id, number, state, billing_status, total::text as total, subtotal::text as subtotal,
    discount_total::text as discount_total, refunded_total::text as refunded_total, currency_code, discount_codes,
    profile.subject as customer, profile.id as customer_id, coalesce(profile.email, merged.email) as email,
    coalesce(profile.phone, merged.phone) as phone, lines, found.created_at, recovered_at, cancelled_at, found.updated_at
from found
left join customer as profile
    on profile.brand_id = $1 and profile.subject = found.customer and not profile.deleted
left join merged on profile.subject is not null
