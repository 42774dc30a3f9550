delete from dead_letter
where brand_id = $1 and id = any($2::text[]::uuid[])
