select id
from discount
where brand_id = $1 and removed_at is null and (id::text = lower($2) or lower(name) = lower($2))
