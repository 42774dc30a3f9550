-- Campaigns that offer a discount and can still be turned on.
select campaign.name
from campaign
join campaign_version as present
    on present.brand_id = campaign.brand_id and present.campaign_id = campaign.id and present.version = campaign.version
where campaign.brand_id = $1 and status <> 'archived' and present.definition ->> 'discount_id' = $2::uuid::text
order by campaign.name
