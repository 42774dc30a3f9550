-- Runs $2, locked, with the place of their next step.
select
    run.id, state, step,
    coalesce((select max(ordinal) + 1 from run_step where run_step.brand_id = run.brand_id and run_id = run.id), 0) as ordinal
from campaign_run as run
where run.brand_id = $1 and run.id = any($2::uuid[])
order by run.id
for update of run
