update store_delivery
set outcome = 'ignored', reason = 'erased', payload = null
where brand_id = $1 and payload is not null
