select name, every_minutes, evaluated_at
from segment
where brand_id = $1 and status = 'active' and every_minutes is not null
order by ordinal
