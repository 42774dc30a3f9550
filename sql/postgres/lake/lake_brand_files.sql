select id, brand_id, relation, path, level, schema_version, rows, bytes, tick_lo, tick_hi, created_at
from lake_file
where brand_id = $1 and retired_at is null
order by relation, tick_lo, id
