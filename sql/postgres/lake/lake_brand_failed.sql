-- With what it failed, so that a mended model is a reason to try again.
update lake_brand
set
    failures = failures + 1,
    error = $2,
    results = results || coalesce(
        (select jsonb_build_object('failed_recipe', $3::text || ' ' || timezone || ' ' || currency_code) from brand where id = $1),
        '{}'
    )
where brand_id = $1
