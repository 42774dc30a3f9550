update custom_delivery set custom_event_id = $4, contact_id = $5
where brand_id = $1 and provider_id = $2 and event_id = $3
