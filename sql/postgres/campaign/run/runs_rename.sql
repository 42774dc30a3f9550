-- Waiting runs that an event type of provider $4 started are said to have been started by its new name. $2: the old one, $3: the new one.
update campaign_run as run
set trigger_event = $3
from campaign_version as version
where
    run.brand_id = $1
    and run.trigger_event = $2
    and run.state = 'waiting'
    and version.brand_id = run.brand_id
    and version.campaign_id = run.campaign_id
    and version.version = run.version
    and version.definition ->> 'provider_id' = $4::uuid::text
