-- In the transaction that publishes the generation, or finds that there is nothing to publish: what the models are of now.
update lake_brand
set models_tick = $3, models_as_of = $4, models_changed_customers = coalesce($5, models_changed_customers)
where brand_id = $1 and generation = $2
