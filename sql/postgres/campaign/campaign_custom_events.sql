-- Event types of providers; $2: those of these names alone, where it is not null.
select
    event_definition.type, event_definition.name, provider_id, provider.name as provider, payload_schema,
    identifier_mappings, event_definition.is_enabled and provider.is_enabled as is_enabled
from event_definition
join provider on provider.brand_id = event_definition.brand_id and provider.id = provider_id
where event_definition.brand_id = $1 and ($2::text[] is null or event_definition.type = any($2))
order by event_definition.type, provider.name, provider_id
