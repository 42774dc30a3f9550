select id from customer where brand_id = $1 and id = $2 and erased_at is null
