update served_generation set replaced_at = now()
where brand_id = $1 and generation < $2 and replaced_at is null
