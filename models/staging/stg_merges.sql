-- what: the ledger of merges: whom identity resolution made one, by what evidence, and what was undone
-- grain: merge_id
-- refresh: at every read
-- from: merges

-- Both profiles are as they were sent; `customer` is whom they belong to now, and null when the merge is undone.
select
    merge.merge_id,
    merge.merged_at,
    source.customer_id as from_customer_id,
    target.customer_id as to_customer_id,
    case when merge.undone_at is null then coalesce(redirect.customer, merge.to_subject) end as customer,
    merge.evidence_kind,
    merge.source,
    merge.undone_at,
    merge.undone_by
from merges as merge
left join customers_source as source on source.subject = merge.from_subject
left join customers_source as target on target.subject = merge.to_subject
left join subject_redirect as redirect on redirect.subject = merge.to_subject
