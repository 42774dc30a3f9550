select purpose, entity, since, position, began_anew_at, done, total, started_at, finished_at
from store_sync
where brand_id = $1
order by purpose, started_at, entity
