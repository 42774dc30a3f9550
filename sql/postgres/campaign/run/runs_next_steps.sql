-- The places of the next steps of runs $2, which earlier statements have locked: one that waits for a lock sees no step
-- that was written meanwhile.
select
    asked.id,
    coalesce((select max(ordinal) + 1 from run_step where run_step.brand_id = $1 and run_id = asked.id), 0) as ordinal
from unnest($2::uuid[]) as asked (id)
