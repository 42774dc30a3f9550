-- The results are as old as the newest erasure: the next refresh publishes, whatever else changed.
update lake_brand set erasures = erasures + 1, refreshed_tick = -1
where brand_id = $1
