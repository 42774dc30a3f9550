-- Of these brands ($2) those that the lake has rows of a relation of.
select brand_id
from lake_file
where relation = $1 and brand_id = any ($2::uuid[]) and retired_at is null
union
select staged_rows.brand_id
from staged_rows
join lake_file on lake_file.id = file_id
where staged_rows.brand_id = any ($2::uuid[]) and relation = $1 and retired_at is null
