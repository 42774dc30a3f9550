-- A step that failed is done again later. $4: how often it failed, $5: when.
update campaign_run
set attempts = $4, due_at = $5, claim = null, claimed_until = null
where brand_id = $1 and id = $2 and claim = $3 and state = 'waiting'
