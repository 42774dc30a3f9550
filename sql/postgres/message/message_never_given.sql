-- The message $3 that claim $2 has in hand since $4, and no channel was given, is anybody's again, as it was before. $5: since when
-- it had been in hand before.
update message
set begun_at = $5, attempts = attempts - 1, claim = null, claimed_until = null
where brand_id = $1 and claim = $2 and id = $3 and begun_at = $4
