select id, convert_to(content::text, 'UTF8') as body
from store_event
where brand_id = $1 and created_at <= $2 and content is not null
