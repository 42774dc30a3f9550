-- The visitors of profiles, those of the merged included.
with linked as (
    select asked.customer, asked.customer as subject
    from unnest($2::integer[]) as asked (customer)
    union all
    select customer, subject
    from subject_redirect
    where brand_id = $1 and customer = any($2::integer[]) and not deleted
)
select linked.customer, array_agg(distinct identifier.value) as visitor_ids
from linked
join identifier
    on identifier.brand_id = $1
    and identifier.kind = 'anonymous_id'
    and identifier.subject = linked.subject
group by linked.customer
