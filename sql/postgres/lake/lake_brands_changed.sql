update lake_brand set changed_tick = $1
where brand_id = any ($2::uuid[])
