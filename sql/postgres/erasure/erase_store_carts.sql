delete from store_cart
where brand_id = $1 and subject = any($2::integer[])
