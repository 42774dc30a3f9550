update lake_brand
set failures = 0, error = null, retry_at = null
where brand_id = $1 and failures > 0
