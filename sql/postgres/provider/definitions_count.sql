select count(*) as count from event_definition where brand_id = $1
