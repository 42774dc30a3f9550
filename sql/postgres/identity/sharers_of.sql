-- Who shares the identifiers: whoever was named with one, and its holder.
select claim.kind, claim.subject, identifier.subject as holder
from unnest($2::text[], $3::text[]) as given (kind, value)
join identifier_claim as claim
    on claim.brand_id = $1 and claim.kind = given.kind and claim.value = given.value
join identifier
    on identifier.brand_id = $1 and identifier.kind = given.kind and identifier.value = given.value
