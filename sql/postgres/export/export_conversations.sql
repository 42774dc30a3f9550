select
    conversation.brand_id, conversation.id as conversation_id, coalesce(conversation.subject, contact.subject) as subject,
    campaign_id, channel, status, checkout_id, goal_until at time zone 'UTC' as goal_until,
    opted_out_at at time zone 'UTC' as opted_out_at, conversation.created_at at time zone 'UTC' as created_at, deleted
from conversation
left join contact on contact.brand_id = conversation.brand_id and contact.id = contact_id
where xid >= $1::text::xid8 and xid < $2::text::xid8
