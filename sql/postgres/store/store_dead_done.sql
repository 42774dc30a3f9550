update store_delivery
set outcome = $3, reason = null, payload = null
where brand_id = $1 and webhook_id = $2 and outcome = 'dead'
