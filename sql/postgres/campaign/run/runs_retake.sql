-- Of runs $2 those that claim $3 holds, locked; whoever has them locked at the moment is waited for.
-- `offset 0` keeps it a lookup by the key: else the planner may read all rows of a brand that is most of a table.
select run.id
from (select id from unnest($2::uuid[]) as id order by id) as asked
cross join lateral (select * from campaign_run where brand_id = $1 and campaign_run.id = asked.id offset 0) as run
where state = 'waiting' and claim = $3::uuid
order by run.id
for update of run
