-- The customer of today, by any of its ordinals. Found first: joined in one step, all customers of the brand would be read.
with today as materialized (
    select coalesce(redirect.customer, named.subject) as subject
    from (select $2::integer as subject) as named
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = named.subject and not redirect.deleted
)

select customer.subject, email, phone, first_name, last_name
from today
join customer on customer.brand_id = $1 and customer.subject = today.subject
where not customer.deleted and provenance <> 'pixel'
