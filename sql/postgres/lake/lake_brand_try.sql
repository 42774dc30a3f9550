-- Notes that a job ($2) in a worker ($3) begins with the brand, unless that waits. Says for how many milliseconds, the time of
-- a job at most, the same job was at it in another worker that never came to an end with it: the service may have been down
-- for long. To lose this note to a crash of Postgres harms nothing.
with tried as (
    select
        brand_id,
        coalesce(retry_at > now(), false) as waits,
        case
            when tried_by = $2 and tried_in <> $3 and tried_at is not null
                then extract(epoch from least(now() - tried_at, interval '15 minutes'))::float8 * 1000
        end as died_after_ms
    from lake_brand, set_config('synchronous_commit', 'off', true)
    where brand_id = $1
    for no key update of lake_brand
),

begun as (
    update lake_brand
    set tried_by = $2, tried_in = $3, tried_at = now()
    from tried
    where lake_brand.brand_id = tried.brand_id and not waits and died_after_ms is null
)

select waits, died_after_ms from tried
