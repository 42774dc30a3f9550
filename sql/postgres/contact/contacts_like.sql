-- Contacts that have one of the channels or are the customer's ($4), with a channel first. `customer`: whose it is by now;
-- `is_others`: of somebody else.
with asked as (
    select coalesce(
        (select customer from subject_redirect where brand_id = $1 and subject = $4::integer and not deleted), $4::integer
    ) as customer
)

select
    contact.id, contact.subject, email, phone, first_name as "firstName", last_name as "lastName",
    coalesce(redirect.customer, contact.subject) as customer,
    coalesce(coalesce(redirect.customer, contact.subject) <> asked.customer, false) as is_others
from asked
join contact on contact.brand_id = $1 and (email = $2 or phone = $3 or contact.subject = $4)
left join subject_redirect as redirect
    on redirect.brand_id = $1 and redirect.subject = contact.subject and not redirect.deleted
order by email is null and phone is null, created_at, contact.id
