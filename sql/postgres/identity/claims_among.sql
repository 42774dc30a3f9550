-- What was said of the customers, oldest first: who was named with an identifier that another of them holds, and how
-- many were in all.
select
    claim.kind,
    claim.source,
    claim.subject,
    identifier.subject as holder,
    (
        select count(*)
        from identifier_claim as others
        where others.brand_id = claim.brand_id and others.kind = claim.kind and others.value = claim.value
    ) as claims
from identifier_claim as claim
join identifier using (brand_id, kind, value)
where brand_id = $1 and claim.subject = any($2::integer[]) and identifier.subject = any($2::integer[])
order by claim.claimed_at, kind, value, claim.subject
