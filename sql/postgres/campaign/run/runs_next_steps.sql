-- The places of the next steps of runs $2, which earlier statements have locked: one that waits for a lock sees no step
-- that was written meanwhile.
select
    run.id,
    coalesce((select max(ordinal) + 1 from run_step where run_step.brand_id = run.brand_id and run_id = run.id), 0) as ordinal
from unnest($2::uuid[]) as asked (id)
join campaign_run as run on run.brand_id = $1 and run.id = asked.id
