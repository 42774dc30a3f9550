-- The refresh found nothing to publish: only the time of the models moves.
update lake_brand
set models_tick = $3, models_as_of = $4
where brand_id = $1 and generation = $2 and erasures = $5
