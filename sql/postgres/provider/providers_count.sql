select count(*) as count from provider where brand_id = $1
