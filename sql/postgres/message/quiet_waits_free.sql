-- Runs and messages that wait for the end of quiet hours are looked at again at once. Those that are in work are looked at
-- anyway: waiting for them, as they may for each other, would be a deadlock.
with waiting_runs as materialized (
    select brand_id, id from campaign_run
    where
        brand_id = $1
        and state = 'waiting'
        and step = 'check'
        and (
            select reason from run_step
            where run_step.brand_id = campaign_run.brand_id and run_id = campaign_run.id
            order by ordinal desc
            limit 1
        ) = 'quiet_hours'
    order by id
    for update skip locked
),

runs as (
    update campaign_run
    set due_at = least(due_at, now()), updated_at = now()
    from waiting_runs as waiting
    where campaign_run.brand_id = waiting.brand_id and campaign_run.id = waiting.id
),

waiting_messages as materialized (
    select brand_id, id from message
    where brand_id = $1 and status = 'queued' and reason = 'quiet_hours'
    order by id
    for update skip locked
)

update message
set next_attempt_at = least(next_attempt_at, now())
from waiting_messages as waiting
where message.brand_id = waiting.brand_id and message.id = waiting.id
