-- A step that failed is done again later. $3: how often it failed, $4: when.
update campaign_run
set attempts = $3, due_at = $4, claim = null, claimed_until = null
where brand_id = $1 and id = $2 and state = 'waiting'
