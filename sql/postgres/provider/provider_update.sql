update provider set name = $3, is_enabled = $4, settings = $5::text::json, updated_at = now()
where brand_id = $1 and id = $2
returning id, key, name, lookup_id, source_template_key, is_enabled, settings::text as settings, created_at
