select lake_file.id, null as brand_id, relation, path, level, schema_version, staged_rows.rows, bytes, tick_lo, tick_hi, created_at
from staged_rows
join lake_file on lake_file.id = file_id
join lake_brand on lake_brand.brand_id = staged_rows.brand_id
where staged_rows.brand_id = $1
    and retired_at is null
    and tick_hi > coalesce((cut_ticks ->> relation)::bigint, 0)
order by relation, tick_lo, lake_file.id
