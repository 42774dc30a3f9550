select id from segment
where
    brand_id = $1
    and status = 'active'
    and translate(lower(btrim(name)), 'ς', 'σ') = translate(lower(btrim($2)), 'ς', 'σ')
