select id, ordinal from segment where brand_id = $1
