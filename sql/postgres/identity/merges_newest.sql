-- $3: of the customer with this id, retired or not; null for all.
with asked as (
    select coalesce(redirect.customer, customer.subject) as customer, customer.subject
    from customer
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = customer.subject and not redirect.deleted
    where customer.brand_id = $1 and customer.id = $3::text
),

theirs as (
    select subject from asked
    union
    select customer from asked
    union
    select redirect.subject
    from asked
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = asked.customer and not redirect.deleted
)

select
    merge.id,
    merge.merged_at,
    source.id as from_id,
    target.id as to_id,
    case when merge.undone_at is null then survivor.id end as customer_id,
    merge.evidence,
    merge.undone_at,
    merge.undone_by
from merge
join customer as source on source.brand_id = $1 and source.subject = merge.from_subject
join customer as target on target.brand_id = $1 and target.subject = merge.to_subject
left join subject_redirect as redirect
    on redirect.brand_id = $1 and redirect.subject = merge.to_subject and not redirect.deleted
join customer as survivor
    on survivor.brand_id = $1 and survivor.subject = coalesce(redirect.customer, merge.to_subject)
where
    merge.brand_id = $1
    and not merge.deleted
    and (
        $3::text is null
        or merge.from_subject in (select subject from theirs)
        or merge.to_subject in (select subject from theirs)
    )
order by merge.merged_at desc, merge.id desc
limit $2
