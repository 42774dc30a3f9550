update discount_code set made_at = now() where brand_id = $1 and code = $2 and made_at is null
