-- An email or phone of customers ($2) who are nobody any more that others were named with as well is from now on that of the
-- first of them.
with heir as (
    select distinct on (claim.kind, claim.value) claim.brand_id, claim.kind, claim.value, claim.subject
    from identifier
    join identifier_claim as claim
        on claim.brand_id = identifier.brand_id and claim.kind = identifier.kind and claim.value = identifier.value
    join customer as profile on profile.brand_id = claim.brand_id and profile.subject = claim.subject
    where
        identifier.brand_id = $1
        and identifier.subject = any($2::integer[])
        and claim.subject <> all ($2::integer[])
        and profile.erased_at is null
        and not profile.deleted
    order by claim.kind, claim.value, claim.claimed_at, claim.subject
),

answered as (
    delete from identifier_claim as claim
    using heir
    where
        claim.brand_id = heir.brand_id
        and claim.kind = heir.kind
        and claim.value = heir.value
        and claim.subject = heir.subject
)

update identifier
set subject = heir.subject
from heir
where identifier.brand_id = heir.brand_id and identifier.kind = heir.kind and identifier.value = heir.value
