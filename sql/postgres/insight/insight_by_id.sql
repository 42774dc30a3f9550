select id
from conversation_insight
where brand_id = $1 and id = $2
