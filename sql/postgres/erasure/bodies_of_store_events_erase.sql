update store_event set content = null, waits_for = null
where brand_id = $1 and id = any($2::text[])
