insert into segment (brand_id, id, ordinal, name, description, current_version_id, created_by)
select $1, $2, coalesce(max(ordinal), 0) + 1, $3, $4, $5, $6
from segment
where brand_id = $1
returning id
