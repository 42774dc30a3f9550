-- Messages $2, locked by who asks, stay theirs after the transaction. $3: claim, $4: until when it is held.
update message
set claim = $3, claimed_until = $4
from unnest($2::uuid[]) as asked (id)
where message.brand_id = $1 and message.id = asked.id
