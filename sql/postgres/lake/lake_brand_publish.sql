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
    failures = 0,
    error = null
where brand_id = $1 and generation = $2 and erasures = $9
