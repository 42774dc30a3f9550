-- A new generation in which the segments are as they were.
update lake_brand
set
    generation = $3,
    models_tick = $4,
    models_as_of = $5,
    models_changed_customers = $7
where brand_id = $1 and generation = $2 and erasures = $6
