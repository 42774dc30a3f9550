-- $13: with the models, of whose customers so many ($14) have rows that replace those of the base.
update lake_brand
set
    generation = $3,
    refreshed_tick = $4,
    as_of = $5,
    refreshed_definitions_version = $6,
    refreshed_at = now(),
    refresh_ms = $7,
    results = jsonb_build_object('recipe', $8::text, 'erasures', $9::bigint),
    full_at = case when $10 then now() else full_at end,
    changed_customers = $11,
    next_change_at = $12::text::timestamptz,
    models_tick = case when $13 then $4 else models_tick end,
    models_as_of = case when $13 then $5 else models_as_of end,
    models_changed_customers = case when $13 then $14 else models_changed_customers end
where brand_id = $1 and generation = $2 and erasures = $9
