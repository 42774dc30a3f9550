select
    id, provider_id, type, name, description, payload_schema::text, identifier_mappings, schema_version, source_template_key, is_enabled, created_at, updated_at
from event_definition
where brand_id = $1 and provider_id = $2 and id = $3
