select
    link.brand_id, link.id, kind, url, message_id, link.conversation_id, link.campaign_id, conversation.channel,
    brand.name as brand_name, conversation.contact_id is null as erased, taken_back
from short_link as link
join conversation on conversation.brand_id = link.brand_id and conversation.id = conversation_id
join brand on brand.id = link.brand_id
where code = $1
