update custom_delivery set custom_event_id = $4
where brand_id = $1 and provider_id = $2 and event_id = $3
