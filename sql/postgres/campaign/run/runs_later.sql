-- Steps of runs that are done again later: how often they failed, and when.
update campaign_run
set attempts = given.attempts, due_at = given.due_at, claim = null, claimed_until = null
from unnest($2::uuid[], $3::int[], $4::timestamptz[]) as given (id, attempts, due_at)
where campaign_run.brand_id = $1 and campaign_run.id = given.id and campaign_run.state = 'waiting'
