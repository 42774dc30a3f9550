update identifier
set shared = true
from unnest($2::text[], $3::text[]) as given (kind, value)
where identifier.brand_id = $1 and identifier.kind = given.kind and identifier.value = given.value
