-- What was said of the customers, oldest first: who was named with an identifier that another of them holds, unless too
-- many share it.
select
    claim.kind,
    claim.source,
    claim.subject,
    identifier.subject as holder
from identifier_claim as claim
join identifier using (brand_id, kind, value)
where
    brand_id = $1
    and claim.subject = any($2::integer[])
    and identifier.subject = any($2::integer[])
    and not identifier.shared
order by claim.claimed_at, kind, value, claim.subject
