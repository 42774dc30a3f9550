-- Always one row: whether the event id was accepted before, and the enabled definition of the type, if there is one.
select
    exists (
        select from custom_delivery where brand_id = $1 and provider_id = $2 and event_id in ($4, erased_id($1, $4))
    ) as known,
    definition.id,
    definition.payload_schema::text,
    definition.identifier_mappings
from (values (1)) as one
left join event_definition as definition
    on definition.brand_id = $1 and definition.provider_id = $2 and definition.type = $3 and definition.is_enabled
