update store_delivery set outcome = 'ignored', reason = 'erased', payload = null
where brand_id = $1 and webhook_id = any($2::text[])
