-- The contact wrote: the run answers. $3: now.
update campaign_run
set
    state = 'waiting', step = 'reply', due_at = $3, former_outcome = outcome, outcome = null, ended_at = null, claim = null, claimed_until = null,
    updated_at = $3
where brand_id = $1 and id = $2
