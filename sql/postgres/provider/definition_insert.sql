insert into event_definition (
    brand_id, id, provider_id, type, name, description, payload_schema, identifier_mappings, source_template_key, is_enabled
)
values ($1, $2, $3, $4, $5, $6, $7::text::json, $8::text::json, $9, $10)
returning
    id, provider_id, type, name, description, payload_schema::text, identifier_mappings, schema_version, source_template_key, is_enabled, created_at, updated_at
