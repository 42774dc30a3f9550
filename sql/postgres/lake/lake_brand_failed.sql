-- It is tried again after the time that the try took ($4, in ms), twice that after the second, up to sixteen times that:
-- what fails at once has its turn in each interval, what fails late leaves the workers to others. With what it failed, so
-- that a mended model is a reason to try again.
update lake_brand
set
    failures = failures + 1,
    error = $2,
    failed_at = now(),
    retry_at = now() + $4::float8 * power(2, least(failures, 4)) * interval '1 millisecond',
    results = results || coalesce(
        (select jsonb_build_object('failed_recipe', $3::text || ' ' || timezone || ' ' || currency_code) from brand where id = $1),
        '{}'
    )
where brand_id = $1
