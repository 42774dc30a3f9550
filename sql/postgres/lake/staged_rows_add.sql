insert into staged_rows (file_id, brand_id, rows)
select $1, brand_id, rows
from unnest($2::uuid[], $3::bigint[]) as staged (brand_id, rows)
