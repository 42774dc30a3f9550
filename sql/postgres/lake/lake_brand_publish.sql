update lake_brand
set
    generation = $3,
    served_path = $4,
    refreshed_tick = $5,
    as_of = $6,
    refreshed_definitions_version = $7,
    refreshed_at = now(),
    refresh_ms = $8,
    results = jsonb_build_object('recipe', $9::text),
    failures = 0,
    error = null
where brand_id = $1 and generation = $2 and erasures = $10
