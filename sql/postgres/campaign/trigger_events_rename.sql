-- Events of provider $4 that have not started anything yet, as runs_rename.
update trigger_event
set event_type = $3
where brand_id = $1 and event_type = $2 and starts_with(event_id, 'service:' || $4::uuid::text || ':')
