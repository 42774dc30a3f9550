-- Of runs $2 that are about to answer: their conversations, with the newest message that came in.
select
    run_id, conversation.id as conversation_id, channel, agent_drafts, agent_tokens,
    (
        select message.id
        from message
        where message.brand_id = conversation.brand_id and message.conversation_id = conversation.id and direction = 'inbound'
        order by created_at desc, message.id desc
        limit 1
    ) as answers,
    exists (
        select
        from message
        where
            message.brand_id = conversation.brand_id
            and message.conversation_id = conversation.id
            and message.answers is not null
            and author = 'campaign'
    ) as has_campaign_reply
from conversation
where brand_id = $1 and run_id = any($2::uuid[])
