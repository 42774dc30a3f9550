-- A new generation in which the segments are as they were.
update lake_brand
set generation = $3, failures = 0, error = null
where brand_id = $1 and generation = $2 and erasures = $4
