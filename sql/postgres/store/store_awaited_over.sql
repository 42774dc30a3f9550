-- What waited for the store's orders, until the hour that it would have waited at most, is due once these were read.
with hour as (
    select jobs_resumed_at() + interval '1 hour' as ends_at
    where store_awaited_until($1) is null
),

runs as (
    update campaign_run
    set due_at = now()
    from hour
    where brand_id = $1 and state = 'waiting' and step = 'check' and due_at = ends_at and ends_at > now()
)

update message
set next_attempt_at = now()
from hour
where brand_id = $1 and status = 'queued' and next_attempt_at = ends_at and ends_at > now()
