update store_delivery
set payload = null, reason = 'erased'
where brand_id = $1 and payload is not null
