-- The run of conversation $2, locked.
select run.id, run.state, run.step, run.outcome, definition ->> 'action_type' as action_type
from conversation
join campaign_run as run on run.brand_id = conversation.brand_id and run.id = run_id
join campaign_version as version
    on version.brand_id = run.brand_id and version.campaign_id = run.campaign_id and version.version = run.version
where conversation.brand_id = $1 and conversation.id = $2
for update of run
