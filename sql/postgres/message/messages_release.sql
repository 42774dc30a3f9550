-- Messages $3 that claim $2 holds are anybody's again.
update message
set claim = null, claimed_until = null
where brand_id = $1 and claim = $2 and id = any($3::uuid[])
