update segment
set last_run_at = $2, evaluating_until = null, error = run.error
from unnest($3::uuid[], $4::text[]) as run (id, error)
where segment.brand_id = $1 and segment.id = run.id
