-- Active campaigns that start at one of these, with what the version that new runs take says.
select campaign.id, campaign.version, campaign.trigger_event, campaign.provider_id, activated_at, definition
from campaign
join campaign_version
    on campaign_version.brand_id = campaign.brand_id
    and campaign_version.campaign_id = campaign.id
    and campaign_version.version = campaign.version
where campaign.brand_id = $1 and status = 'active' and campaign.trigger_event = any($2::text[])
