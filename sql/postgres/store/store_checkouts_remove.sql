update checkout
set deleted = true
where brand_id = $1 and external_id = any($2::text[]) and not deleted
