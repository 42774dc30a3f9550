select id from segment
where brand_id = $1 and status = 'active' and lower(btrim(name)) = lower(btrim($2))
