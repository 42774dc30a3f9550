-- Messages of channel $2 that are due and nobody sends, locked until the transaction ends. $3: now, $4: at most so many.
select id
from message
where
    brand_id = $1
    and channel = $2
    and status = 'queued'
    and next_attempt_at <= $3::timestamptz
    and (claimed_until is null or claimed_until <= $3::timestamptz)
order by next_attempt_at
limit $4
for update skip locked
