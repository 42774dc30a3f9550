-- Active segments, and campaigns that are not archived, whose current definition names a segment.
select name, false as is_campaign
from segment
join segment_version
    on segment_version.brand_id = segment.brand_id
    and segment_version.segment_id = segment.id
    and segment_version.version = segment.version
where segment.brand_id = $1 and status = 'active' and $2::uuid = any (refers_to)
union all
select name, true as is_campaign
from campaign
join campaign_version
    on campaign_version.brand_id = campaign.brand_id
    and campaign_version.campaign_id = campaign.id
    and campaign_version.version = campaign.version
where campaign.brand_id = $1 and status <> 'archived' and position($2::uuid::text in lower(definition ->> 'filters')) > 0
order by is_campaign, name
