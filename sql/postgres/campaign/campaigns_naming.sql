-- Campaigns whose present version has a text in it.
select campaign.id, name, type, status, campaign.version, definition::text as definition
from campaign
join campaign_version
    on campaign_version.brand_id = campaign.brand_id
    and campaign_version.campaign_id = campaign.id
    and campaign_version.version = campaign.version
where campaign.brand_id = $1 and status <> 'archived' and position($2 in definition::text) > 0
order by campaign.id
