update merge
set barred = true
where brand_id = $1 and id = $2
