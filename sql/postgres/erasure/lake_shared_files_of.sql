-- Shared files with rows of the brand, also those that were cut into files of its own.
select lake_file.id, null as brand_id, relation, path, level, schema_version, lake_file.rows, bytes, tick_lo, tick_hi, lake_file.created_at
from staged_rows
join lake_file on lake_file.id = file_id
where staged_rows.brand_id = $1 and relation = $2 and retired_at is null
order by tick_lo, lake_file.id
