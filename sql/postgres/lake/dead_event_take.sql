delete from dead_event
where brand_id = $1 and batch_id = $2 and line = $3
returning payload
