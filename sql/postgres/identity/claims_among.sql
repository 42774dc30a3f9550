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
    -- A server of before notes claims alone.
    and (
        select count(*)
        from identifier_claim as of_it
        where of_it.brand_id = claim.brand_id and of_it.kind = claim.kind and of_it.value = claim.value
    ) < 10
order by claim.claimed_at, kind, value, claim.subject
