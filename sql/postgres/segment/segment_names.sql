select id, name from segment where brand_id = $1 and id = any($2::uuid[])
