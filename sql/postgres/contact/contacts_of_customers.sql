-- The oldest contact that was made of one of the profiles that are the customer's, or has their email or phone and is
-- nobody else's; one without a channel only where there is no other.
with asked as (
    select customer, email, phone
    from unnest($2::integer[], $3::text[], $4::text[]) as asked (customer, email, phone)
),

found as (
    select asked.customer, contact.id, contact.created_at, false as is_bare
    from asked join contact on contact.brand_id = $1 and contact.email = asked.email
    where contact.subject is null
    union all
    select asked.customer, contact.id, contact.created_at, false
    from asked join contact on contact.brand_id = $1 and contact.phone = asked.phone
    where contact.subject is null
    union all
    select asked.customer, contact.id, contact.created_at, contact.email is null and contact.phone is null
    from asked join contact on contact.brand_id = $1 and contact.subject = asked.customer
    union all
    select asked.customer, contact.id, contact.created_at, contact.email is null and contact.phone is null
    from asked
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = asked.customer and not redirect.deleted
    join contact on contact.brand_id = $1 and contact.subject = redirect.subject
)

select distinct on (customer) customer, id
from found
order by customer, is_bare, created_at, id
