-- All customers that belong together with the given ones, each with its survivor; no visitors.
with given as (
    select distinct coalesce(redirect.customer, named.subject) as customer
    from unnest($2::integer[]) as named (subject)
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = named.subject and not redirect.deleted
),

members as (
    select customer as subject, customer from given
    union all
    select redirect.subject, redirect.customer
    from given
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = given.customer and not redirect.deleted
)

select members.subject, members.customer, customer.store_customer_id
from members
join customer on customer.brand_id = $1 and customer.subject = members.subject and customer.provenance <> 'pixel'
order by members.subject
