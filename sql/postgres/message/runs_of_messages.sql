-- Runs $2, locked.
-- `offset 0` keeps it a lookup by the key: else the planner may read all rows of a brand that is most of a table.
select run.id, state, step
from (select id from unnest($2::uuid[]) as id order by id) as asked
cross join lateral (select * from campaign_run where campaign_run.brand_id = $1 and campaign_run.id = asked.id offset 0) as run
order by run.id
for update of run
