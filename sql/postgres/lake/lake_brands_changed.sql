update lake_brand set changed_tick = $1, failures = 0
where brand_id = any ($2::uuid[])
