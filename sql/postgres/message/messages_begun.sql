-- Channels have them in hand from here on. $3: now, $4: until when the claim is held.
update message
set begun_at = $3, claimed_until = $4, attempts = attempts + 1
where brand_id = $1 and id = any($2::uuid[])
