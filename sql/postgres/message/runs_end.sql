-- Runs that wait end; what had ended before its contact wrote stays as it was. $2: now.
update campaign_run
set
    state = 'ended', step = 'end', due_at = null,
    outcome = coalesce(case when step = 'reply' then former_outcome end, given.outcome), ended_at = $2, updated_at = $2, claim = null,
    claimed_until = null
from unnest($3::uuid[], $4::text[]) as given (id, outcome)
where campaign_run.brand_id = $1 and campaign_run.id = given.id and state = 'waiting'
