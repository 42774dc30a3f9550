delete from trigger_event where brand_id = $1 and event_id = any($2::text[])
