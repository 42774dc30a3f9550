-- What profiles go by beside their own columns: their contact and their visitors, those of the merged included.
with linked as (
    select asked.customer, asked.customer as subject
    from unnest($2::integer[]) as asked (customer)
    union all
    select customer, subject
    from subject_redirect
    where brand_id = $1 and customer = any($2::integer[]) and not deleted
)
select
    linked.customer,
    (array_agg(contact.id order by contact.created_at, contact.id) filter (where contact.id is not null))[1] as contact_id,
    coalesce(array_agg(distinct identifier.value) filter (where identifier.value is not null), '{}') as visitor_ids
from linked
left join contact on contact.brand_id = $1 and contact.subject = linked.subject
left join identifier
    on identifier.brand_id = $1
    and identifier.kind = 'anonymous_id'
    and identifier.subject = linked.subject
group by linked.customer
