-- Runs that are due and nobody works on, those first that are due the longest. $1: now, $2: at most so many.
select brand_id, id
from campaign_run
where state = 'waiting' and due_at <= $1::timestamptz and (claimed_until is null or claimed_until <= $1::timestamptz)
order by due_at
limit $2
