select
    custom_event.id, event_definition.type, event_definition.name, provider.key as source,
    custom_event.event_id as external_event_id, custom_event.updated_at as received_at
from custom_event
join event_definition on event_definition.brand_id = custom_event.brand_id and event_definition.id = definition_id
join provider on provider.brand_id = custom_event.brand_id and provider.id = custom_event.provider_id
where
    custom_event.brand_id = $1
    and custom_event.id = case when $2 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $2::uuid end
