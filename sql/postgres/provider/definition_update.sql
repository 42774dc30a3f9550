update event_definition
set
    type = $4,
    name = $5,
    description = $6,
    payload_schema = $7::text::json,
    identifier_mappings = $8::text::json,
    schema_version = $9,
    is_enabled = $10,
    updated_at = now()
where brand_id = $1 and provider_id = $2 and id = $3
returning
    id, provider_id, type, name, description, payload_schema::text, identifier_mappings, schema_version, source_template_key, is_enabled, created_at, updated_at
