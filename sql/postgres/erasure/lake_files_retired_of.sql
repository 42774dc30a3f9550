select id, path
from lake_file
where retired_at is not null
    and (brand_id = $1 or id in (select file_id from staged_rows where brand_id = $1))
