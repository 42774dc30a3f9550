-- Runs $2, locked by who asks, stay theirs after the transaction. $3: claim, $4: until when it is held.
update campaign_run
set claim = $3, claimed_until = $4
where brand_id = $1 and id = any($2::uuid[])
