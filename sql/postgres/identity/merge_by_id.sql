select
    merge.id,
    merge.merged_at,
    source.id as from_id,
    target.id as to_id,
    case when merge.undone_at is null then survivor.id end as customer_id,
    merge.evidence,
    merge.undone_at,
    merge.undone_by,
    merge.from_subject,
    merge.to_subject,
    source.provenance = 'pixel' as is_visitor,
    -- Both have it: one holds it and the other was named with it, or a browser gave it for its visitor.
    array(
        select identifier.value
        from identifier
        left join identifier_claim as claim
            on claim.brand_id = identifier.brand_id and claim.kind = identifier.kind and claim.value = identifier.value
            and claim.subject in (merge.from_subject, merge.to_subject)
        where
            identifier.brand_id = merge.brand_id
            and identifier.kind = merge.evidence ->> 'kind'
            and identifier.subject in (merge.from_subject, merge.to_subject)
            and (claim.subject is not null or source.provenance = 'pixel')
        order by identifier.value
    ) as values,
    merge.barred
from merge
join customer as source on source.brand_id = merge.brand_id and source.subject = merge.from_subject
join customer as target on target.brand_id = merge.brand_id and target.subject = merge.to_subject
left join subject_redirect as redirect
    on redirect.brand_id = merge.brand_id and redirect.subject = merge.to_subject and not redirect.deleted
join customer as survivor
    on survivor.brand_id = merge.brand_id and survivor.subject = coalesce(redirect.customer, merge.to_subject)
where merge.brand_id = $1 and merge.id = $2
