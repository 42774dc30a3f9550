-- Who shares the identifiers: whoever was named with one, and its holder.
select kind, claim.subject, identifier.subject as holder
from unnest($2::text[], $3::text[]) as given (kind, value)
join identifier_claim as claim using (kind, value)
join identifier using (brand_id, kind, value)
where brand_id = $1
