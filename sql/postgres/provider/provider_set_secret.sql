update provider set webhook_secret = $3, updated_at = now()
where brand_id = $1 and id = $2
