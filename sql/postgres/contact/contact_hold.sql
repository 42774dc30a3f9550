select id from contact where brand_id = $1 and id = $2 for update
