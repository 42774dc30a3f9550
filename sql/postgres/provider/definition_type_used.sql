select exists (select from event_definition where brand_id = $1 and type = $2) as used
