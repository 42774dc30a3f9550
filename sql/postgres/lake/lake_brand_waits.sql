select retry_at is not null and retry_at > now() as waits from lake_brand where brand_id = $1
