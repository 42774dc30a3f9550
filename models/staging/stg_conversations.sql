-- what: conversations begun up to as_of, in their present state, under the customer that they belong to now
-- grain: conversation_id
-- refresh: at every read
-- from: conversations
select
    conversation.conversation_id,
    coalesce(redirect.customer, conversation.subject) as customer,
    conversation.campaign_id,
    conversation.channel,
    conversation.status,
    conversation.checkout_id,
    conversation.goal_until,
    conversation.opted_out_at,
    conversation.created_at
from conversations as conversation
cross join params
left join subject_redirect as redirect using (subject)
where conversation.created_at <= params.as_of
