-- Conversations that journeys ($2) led to, that are about a checkout ($3), or that an order ($4) followed.
select
    conversation.id as conversation_id, conversation.created_at, conversation.campaign_id, campaign.name as campaign_name
from conversation
left join campaign on campaign.brand_id = conversation.brand_id and campaign.id = conversation.campaign_id
where
    conversation.brand_id = $1
    and not conversation.deleted
    and (
        conversation.run_id = any($2::uuid[])
        or conversation.checkout_id = $3::uuid
        or conversation.id = (
            select conversation_id
            from attribution
            where attribution.brand_id = conversation.brand_id and order_id = $4::uuid
        )
    )
order by conversation.created_at, conversation.id
