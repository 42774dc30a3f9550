select ordinal
from segment
where brand_id = $1 and status = 'archived' and member_count > 0
