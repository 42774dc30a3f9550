delete from visitor_claim
using unnest($2::text[], $3::text[]) as given (kind, value)
where visitor_claim.brand_id = $1 and visitor_claim.kind = given.kind and visitor_claim.value = given.value
