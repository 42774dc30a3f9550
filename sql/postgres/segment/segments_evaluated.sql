update segment
set
    evaluated_version = run.version,
    member_count = run.members,
    evaluated_count = run.members,
    generation = $2,
    evaluated_at = $3,
    first_evaluated_at = least(first_evaluated_at, $3),
    last_run_at = $3,
    evaluated_tick = $7,
    evaluating_until = null,
    error = null
from unnest($4::uuid[], $5::integer[], $6::bigint[]) as run (id, version, members)
where segment.brand_id = $1 and segment.id = run.id and status = 'active'
