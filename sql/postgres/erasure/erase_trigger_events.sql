delete from trigger_event
where brand_id = $1 and subject = any($2::integer[])
