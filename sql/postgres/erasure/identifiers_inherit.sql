-- Identifiers that nobody has any more go to whoever was named with them first. The claim stays, since what too many share
-- says of nobody who they are when one of them is gone, too.
insert into identifier (brand_id, kind, value, subject)
select distinct on (claim.kind, claim.value) claim.brand_id, claim.kind, claim.value, claim.subject
from unnest($2::text[], $3::text[]) as given (kind, value)
join identifier_claim as claim on claim.brand_id = $1 and claim.kind = given.kind and claim.value = given.value
where
    not exists (
        select
        from identifier
        where identifier.brand_id = claim.brand_id and identifier.kind = claim.kind and identifier.value = claim.value
    )
order by claim.kind, claim.value, claim.claimed_at, claim.subject
