update checkout set subject = null, url = null, token = null, cart_id = null
where brand_id = $1 and subject = any($2::integer[])
