select id, topic, named_by
from conversation_insight
where brand_id = $1
