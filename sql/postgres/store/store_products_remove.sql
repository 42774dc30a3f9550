update product
set deleted = true
where brand_id = $1 and id = any($2::text[]) and not deleted
