-- What failed may be a version that is no longer the current one.
update segment
set
    last_run_at = $2,
    evaluating_until = null,
    error = case when segment.version = run.version then run.error else segment.error end
from unnest($3::uuid[], $4::text[], $5::integer[]) as run (id, error, version)
where segment.brand_id = $1 and segment.id = run.id and status = 'active'
