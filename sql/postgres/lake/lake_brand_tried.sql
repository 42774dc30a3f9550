-- A job came to an end with the brand, whatever became of it.
update lake_brand
set tried_at = null
from set_config('synchronous_commit', 'off', true)
where brand_id = $1 and tried_by = $2
