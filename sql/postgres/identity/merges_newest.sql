-- $3: of the customer with this id, retired or not; null for all.
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
join customer as source on source.brand_id = merge.brand_id and source.subject = merge.from_subject
join customer as target on target.brand_id = merge.brand_id and target.subject = merge.to_subject
left join subject_redirect as redirect
    on redirect.brand_id = merge.brand_id and redirect.subject = merge.to_subject and not redirect.deleted
join customer as survivor
    on survivor.brand_id = merge.brand_id and survivor.subject = coalesce(redirect.customer, merge.to_subject)
where
    merge.brand_id = $1
    and not merge.deleted
    and ($3::text is null or $3 in (source.id, target.id, survivor.id))
order by merge.merged_at desc, merge.id desc
limit $2
