select brand_id
from store_connection
where status <> 'disconnected'
order by brand_id
