select id
from conversation
where brand_id = $1 and id = $2 and not deleted
