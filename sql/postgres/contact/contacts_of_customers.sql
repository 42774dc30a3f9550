-- The oldest contact that has the customer's email or phone, or was made of them.
with asked as (
    select customer, email, phone
    from unnest($2::integer[], $3::text[], $4::text[]) as asked (customer, email, phone)
),

found as (
    select asked.customer, contact.id, contact.created_at
    from asked join contact on contact.brand_id = $1 and contact.email = asked.email
    union all
    select asked.customer, contact.id, contact.created_at
    from asked join contact on contact.brand_id = $1 and contact.phone = asked.phone
    union all
    select asked.customer, contact.id, contact.created_at
    from asked join contact on contact.brand_id = $1 and contact.subject = asked.customer
)

select distinct on (customer) customer, id
from found
order by customer, created_at, id
