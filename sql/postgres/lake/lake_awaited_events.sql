-- Types of events that campaigns wait for, by brand. Orders end what waits for one, too. What was accepted under the old
-- name of a type may come into the lake after the renaming. What refreshes find is no event.
select brand_id, awaited_event(trigger_event) as event_type
from campaign
where status = 'active' and trigger_event not in ('browse_abandoned', 'customer_winback', 'segment_entered')
union
select brand_id, 'order_created' as event_type
from campaign
where status = 'active'
union
select campaign.brand_id, former.old_type as event_type
from campaign
join event_definition
    on event_definition.brand_id = campaign.brand_id
    and event_definition.provider_id = campaign.provider_id
    and event_definition.type = campaign.trigger_event
join event_rename as former on former.brand_id = campaign.brand_id and former.definition_id = event_definition.id
where status = 'active' and former.renamed_at > now() - interval '7 days'
