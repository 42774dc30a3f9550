-- Channels have them in hand from here on, to go to these addresses. $4: now, $5: until when the claim is held.
update message
set begun_at = $4, claimed_until = $5, attempts = attempts + 1, address = given.address
from unnest($2::uuid[], $3::text[]) as given (id, address)
where message.brand_id = $1 and message.id = given.id
