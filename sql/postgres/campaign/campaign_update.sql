update campaign
set name = $3, type = $4, version = $5, trigger_event = $6, provider_id = $7, updated_at = now()
where brand_id = $1 and id = $2
