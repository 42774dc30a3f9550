-- The run of conversation $2, locked, and whether something was said in it.
select
    run.id, run.state, run.step, definition ->> 'action_type' as action_type,
    exists (
        select
        from message
        where
            message.brand_id = conversation.brand_id
            and message.conversation_id = conversation.id
            and direction = 'outbound'
            and message.status in ('sent', 'delivered')
    ) as has_said
from conversation
join campaign_run as run on run.brand_id = conversation.brand_id and run.id = run_id
join campaign_version as version
    on version.brand_id = run.brand_id and version.campaign_id = run.campaign_id and version.version = run.version
where conversation.brand_id = $1 and conversation.id = $2
for update of run
