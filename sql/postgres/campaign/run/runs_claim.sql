-- Runs that are due and nobody works on, those first that are due the longest. $1: claim, $2: now, $3: until when it is
-- held, $4: at most so many.
with due as (
    select brand_id, id
    from campaign_run
    where state = 'waiting' and due_at <= $2 and (claimed_until is null or claimed_until <= $2)
    order by due_at
    limit $4
    for update skip locked
)

update campaign_run
set claim = $1, claimed_until = $3
from due
where campaign_run.brand_id = due.brand_id and campaign_run.id = due.id
returning campaign_run.brand_id, campaign_run.id
