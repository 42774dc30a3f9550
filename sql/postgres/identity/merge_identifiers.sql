-- What each of these customers was merged by last: the identifier that both profiles have, as long as it is known.
-- `offset 0` keeps each a lookup; merges are read in the order of the index by whom they began from, so that this one is
-- taken: without statistics, as after an import, the planner takes one that reads all merges of the brand for each.
select distinct on (redirect.customer)
    redirect.customer,
    held.value
from subject_redirect as redirect
cross join lateral (
    select id, merged_at, from_subject, to_subject, evidence ->> 'kind' as kind
    from merge
    where
        merge.brand_id = redirect.brand_id
        and from_subject between redirect.subject and redirect.subject
        and undone_at is null
        and not merge.deleted
    order by from_subject
    offset 0
) as merge
cross join lateral (
    select kind, value
    from identifier_claim
    where identifier_claim.brand_id = redirect.brand_id and subject in (merge.from_subject, merge.to_subject)
    offset 0
) as claim
cross join lateral (
    select value
    from identifier
    where
        identifier.brand_id = redirect.brand_id
        and kind = merge.kind
        and value = claim.value
        and identifier.subject in (merge.from_subject, merge.to_subject)
    limit 1
) as held
where
    redirect.brand_id = $1
    and redirect.customer = any($2::integer[])
    and not redirect.deleted
    and claim.kind = merge.kind
order by redirect.customer, merge.merged_at desc, merge.id desc, held.value
