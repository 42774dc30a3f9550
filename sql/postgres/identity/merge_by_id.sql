select
    merge.id,
    merge.merged_at,
    merge.from_id,
    merge.to_id,
    merge.customer_id,
    merge.evidence,
    merge.undone_at,
    merge.undone_by,
    merge.from_subject,
    merge.to_subject,
    merge.is_visitor,
    merge.barred,
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
            and (claim.subject is not null or merge.is_visitor)
        order by identifier.value
    ) as values
from merge_shown as merge
where merge.brand_id = $1 and merge.id = $2
