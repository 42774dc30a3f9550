-- The customer of today, by any of its ordinals.
select customer.subject, email, phone, first_name, last_name
from customer
left join subject_redirect as redirect
    on redirect.brand_id = $1 and redirect.subject = $2::integer and not redirect.deleted
where
    customer.brand_id = $1
    and customer.subject = coalesce(redirect.customer, $2::integer)
    and not customer.deleted
    and provenance <> 'pixel'
