update segment set version = $3, current_version_id = $4, updated_at = now()
where brand_id = $1 and id = $2
