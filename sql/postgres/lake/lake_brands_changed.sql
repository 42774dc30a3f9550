update lake_brand set changed_tick = $1, changed_at = now()
where brand_id = any ($2::uuid[])
