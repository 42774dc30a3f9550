select webhook_id, topic, triggered_at, received_at, reason, payload
from store_delivery
where brand_id = $1 and outcome = 'dead'
order by received_at
