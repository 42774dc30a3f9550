-- Runs that wait end. $2: now.
update campaign_run
set
    state = 'ended', step = 'end', due_at = null, outcome = given.outcome, ended_at = $2, updated_at = $2, claim = null,
    claimed_until = null
from unnest($3::uuid[], $4::text[]) as given (id, outcome)
where campaign_run.brand_id = $1 and campaign_run.id = given.id and state = 'waiting'
