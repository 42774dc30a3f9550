update store_delivery set payload = null, reason = 'erased'
where brand_id = $1 and webhook_id = any($2::text[])
