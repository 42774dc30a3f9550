-- A segment that failed has failed until the next run; of which version that is said goes with it.
update segment
set
    version = $3::integer,
    current_version_id = $4,
    updated_at = now(),
    error = case when error like 'Before version %' then error else 'Before version ' || $3::integer || ': ' || error end
where brand_id = $1 and id = $2
