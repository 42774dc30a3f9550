select kind, value, erased_at
from unnest($2::text[], $3::text[]) as given (kind, value)
join tombstone on brand_id = $1 and hash = tombstone_hash($1, kind, value)
