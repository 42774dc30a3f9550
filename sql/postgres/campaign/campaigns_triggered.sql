-- Active campaigns that start at one of these, by its present name or a former one, with what the version that new runs
-- take says.
select
    campaign.id, campaign.version, campaign.trigger_event, campaign.provider_id,
    -- A server of before writes the second one only.
    greatest(awaits_since, activated_at) as awaits_since, definition,
    coalesce(former.names, '[]') as formerly
from campaign
join campaign_version
    on campaign_version.brand_id = campaign.brand_id
    and campaign_version.campaign_id = campaign.id
    and campaign_version.version = campaign.version
left join event_definition
    on event_definition.brand_id = campaign.brand_id
    and event_definition.provider_id = campaign.provider_id
    and event_definition.type = campaign.trigger_event
left join lateral (
    select json_agg(json_build_object('definition_id', definition_id, 'type', old_type, 'until', renamed_at)) as names
    from event_rename
    where
        event_rename.brand_id = event_definition.brand_id
        and event_rename.definition_id = event_definition.id
        and old_type = any($2::text[])
) as former on true
where
    campaign.brand_id = $1
    and status = 'active'
    and (campaign.trigger_event = any($2::text[]) or former.names is not null)
