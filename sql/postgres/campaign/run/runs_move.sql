-- Where runs stand now; nobody works on them any more. $2: now.
update campaign_run
set
    state = case when given.outcome is null then 'waiting' else 'ended' end,
    step = coalesce(given.step, campaign_run.step),
    due_at = given.due_at,
    outcome = given.outcome,
    ended_at = case when given.outcome is not null then $2::timestamptz end,
    contact_id = coalesce(given.contact_id, campaign_run.contact_id),
    branch = coalesce(given.branch, campaign_run.branch),
    claim = null,
    claimed_until = null,
    attempts = 0,
    updated_at = $2
from unnest($3::uuid[], $4::text[], $5::timestamptz[], $6::text[], $7::uuid[], $8::text[]) as given (
    id, step, due_at, outcome, contact_id, branch
)
where campaign_run.brand_id = $1 and campaign_run.id = given.id
