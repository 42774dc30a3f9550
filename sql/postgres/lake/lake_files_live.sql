-- Of one brand ($1), shared ones left out, or with null all files that count.
select id, brand_id, relation, path, bytes, sha256
from lake_file
where retired_at is null and ($1::uuid is null or brand_id = $1)
order by id
