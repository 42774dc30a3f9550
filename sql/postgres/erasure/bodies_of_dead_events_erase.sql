delete from dead_event
where (brand_id = $1 or brand_id is null) and batch_id || ' ' || line = any($2::text[])
