select id, brand_id, relation, path, level, schema_version, rows, bytes, tick_lo, tick_hi, created_at
from lake_file
where brand_id is null and relation = $1 and retired_at is null
order by tick_lo, id
