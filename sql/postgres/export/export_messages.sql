-- Under the customer of their conversation.
select
    message.brand_id, message.id as message_id, conversation_id, campaign_id,
    coalesce(conversation.subject, contact.subject) as subject, direction, author, message.channel, message.status,
    message.created_at at time zone 'UTC' as created_at, sent_at at time zone 'UTC' as sent_at,
    delivered_at at time zone 'UTC' as delivered_at, message.deleted
from message
join conversation on conversation.brand_id = message.brand_id and conversation.id = conversation_id
left join contact on contact.brand_id = message.brand_id and contact.id = conversation.contact_id
where message.xid >= $1::text::xid8 and message.xid < $2::text::xid8
