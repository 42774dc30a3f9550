select distinct subject
from contact
where brand_id = $1 and subject = any($2::integer[])
