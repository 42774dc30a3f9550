-- Conversations that journeys ($2) led to, that are about a checkout ($3), or that an order ($4) followed.
with found as (
    select brand_id, id from conversation where brand_id = $1 and run_id = any($2::uuid[])
    union
    select brand_id, id from conversation where brand_id = $1 and checkout_id = $3::uuid
    union
    select brand_id, conversation_id from attribution where brand_id = $1 and order_id = $4::uuid
)

select
    conversation.id as conversation_id, conversation.created_at, conversation.campaign_id, campaign.name as campaign_name
from found
join conversation on conversation.brand_id = found.brand_id and conversation.id = found.id and not conversation.deleted
left join campaign on campaign.brand_id = conversation.brand_id and campaign.id = conversation.campaign_id
order by conversation.created_at, conversation.id
