-- Messages of channel $2 that are due and nobody sends. $3: claim, $4: now, $5: until when it is held, $6: at most so many.
with due as (
    select brand_id, id
    from message
    where
        brand_id = $1
        and channel = $2
        and status = 'queued'
        and next_attempt_at <= $4::timestamptz
        and (claimed_until is null or claimed_until <= $4::timestamptz)
    order by next_attempt_at
    limit $6
    for update skip locked
)

update message
set claim = $3, claimed_until = $5
from due
where message.brand_id = due.brand_id and message.id = due.id
returning message.id
