update discount set removed_at = now() where brand_id = $1 and id = $2 and removed_at is null
