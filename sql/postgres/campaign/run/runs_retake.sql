-- Of runs $2 those that claim $3 holds, locked; whoever has them locked at the moment is waited for.
select id
from campaign_run
where brand_id = $1 and id = any($2::uuid[]) and state = 'waiting' and claim = $3::uuid
order by id
for update
