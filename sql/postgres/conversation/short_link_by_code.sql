select
    link.brand_id, link.id, kind, url, message_id, conversation_id, link.campaign_id, channel, brand.name as brand_name
from short_link as link
join conversation on conversation.brand_id = link.brand_id and conversation.id = conversation_id
join brand on brand.id = link.brand_id
where code = $1
