update refund set subject = null
where brand_id = $1 and subject = any($2::integer[])
