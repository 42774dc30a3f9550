select webhook_id as id, payload as body
from store_delivery
where brand_id = $1 and received_at <= $2 and payload is not null
