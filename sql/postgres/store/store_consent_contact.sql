select id
from contact
where brand_id = $1 and subject = $2
order by email is null and phone is null, created_at, id
limit 1
