-- From customers whom the store removed, for those who were named with them.
with given as (
    select kind, value, subject
    from unnest($2::text[], $3::text[], $4::integer[]) as given (kind, value, subject)
),

answered as (
    delete from identifier_claim as claim
    using given
    where
        claim.brand_id = $1
        and claim.kind = given.kind
        and claim.value = given.value
        and claim.subject = given.subject
)

update identifier
set subject = given.subject
from given
where identifier.brand_id = $1 and identifier.kind = given.kind and identifier.value = given.value
