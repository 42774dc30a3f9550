select id, subject, email, phone
from contact
where brand_id = $1 and (email = $2 or phone = $3 or subject = $4)
order by created_at, id
