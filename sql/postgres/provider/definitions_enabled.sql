select event_definition.type, event_definition.description, event_definition.name, provider_id, payload_schema::text
from event_definition
join provider on provider.brand_id = event_definition.brand_id and provider.id = provider_id
where event_definition.brand_id = $1 and event_definition.is_enabled and provider.is_enabled
order by event_definition.type, provider_id
