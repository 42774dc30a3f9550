-- All customers that belong together with the given ones, each with its survivor; no visitors.
with living as not materialized (
    select brand_id, subject, customer
    from subject_redirect
    where brand_id = $1 and not deleted
),

given as (
    select distinct coalesce(living.customer, named.subject) as customer
    from unnest($2::integer[]) as named (subject)
    left join living using (subject)
),

members as (
    select customer as subject, customer from given
    union all
    select living.subject, customer
    from given
    join living using (customer)
)

select subject, members.customer, customer.store_customer_id
from members
join customer using (subject)
where brand_id = $1 and provenance <> 'pixel'
order by subject
