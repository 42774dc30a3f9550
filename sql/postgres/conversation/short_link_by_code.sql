select
    link.brand_id, link.id, kind, url, message_id, link.conversation_id, link.campaign_id, conversation.channel, message.address,
    brand.name as brand_name, conversation.contact_id is null as erased, taken_back
from short_link as link
join conversation on conversation.brand_id = link.brand_id and conversation.id = conversation_id
left join message on message.brand_id = link.brand_id and message.id = message_id
join brand on brand.id = link.brand_id
where code = $1
