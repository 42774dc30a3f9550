select brand_id from lake_file where relation = $1 and brand_id is not null and retired_at is null
union
select staged_rows.brand_id
from staged_rows
join lake_file on lake_file.id = file_id
where relation = $1 and retired_at is null
