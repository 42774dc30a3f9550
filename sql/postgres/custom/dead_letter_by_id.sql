select
    letter.id,
    letter.provider_id,
    event_id,
    event_type,
    reason,
    attempts,
    received_at,
    failed_at,
    resolved_at,
    body,
    definition.type as present_type
from dead_letter as letter
left join event_definition as definition
    on definition.brand_id = letter.brand_id and definition.id = letter.definition_id
where letter.brand_id = $1 and letter.id = $2
