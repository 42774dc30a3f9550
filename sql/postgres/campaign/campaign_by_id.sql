select
    campaign.id, name, type, status, campaign.version, definition::text as definition, campaign.created_by,
    campaign.created_at, updated_at, activated_at
from campaign
join campaign_version
    on campaign_version.brand_id = campaign.brand_id
    and campaign_version.campaign_id = campaign.id
    and campaign_version.version = campaign.version
where campaign.brand_id = $1 and campaign.id = $2
