update checkout set subject = null, erased = true
where brand_id = $1 and subject = any($2::integer[])
