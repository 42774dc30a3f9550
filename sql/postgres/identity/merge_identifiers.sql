-- What each of these customers was merged by last: the identifier that both profiles have, as long as it is known.
-- `offset 0` keeps each a lookup.
select distinct on (redirect.customer)
    redirect.customer,
    held.value
from subject_redirect as redirect
cross join lateral (
    select id, merged_at, from_subject, to_subject, evidence ->> 'kind' as kind
    from merge
    where brand_id = $1 and from_subject = redirect.subject and undone_at is null and not deleted
    offset 0
) as merge
cross join lateral (
    select kind, value
    from identifier_claim
    where
        brand_id = $1
        and subject in (merge.from_subject, merge.to_subject)
        and kind = merge.kind
    offset 0
) as claim
cross join lateral (
    select value
    from identifier
    where
        brand_id = $1
        and kind = claim.kind
        and value = claim.value
        and subject in (merge.from_subject, merge.to_subject)
    limit 1
) as held
where redirect.brand_id = $1 and redirect.customer = any($2::integer[]) and not redirect.deleted
order by redirect.customer, merge.merged_at desc, merge.id desc, held.value
