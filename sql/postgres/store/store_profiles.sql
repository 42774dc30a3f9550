select subject, id
from customer
where brand_id = $1 and subject = any($2::integer[])
