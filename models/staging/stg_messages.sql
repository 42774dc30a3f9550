-- what: messages both ways, written up to as_of, without their text, under the customer that they belong to now
-- grain: message_id
-- refresh: at every read
-- from: messages

-- What happened to one after as_of is not known yet.
select
    message.message_id,
    message.conversation_id,
    message.campaign_id,
    coalesce(redirect.customer, message.subject) as customer,
    message.direction,
    message.author,
    message.channel,
    message.created_at,
    case when message.sent_at <= params.as_of then message.sent_at end as sent_at,
    case when message.delivered_at <= params.as_of then message.delivered_at end as delivered_at
from messages as message
cross join params
left join subject_redirect as redirect using (subject)
where message.created_at <= params.as_of
