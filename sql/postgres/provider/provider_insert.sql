insert into provider (brand_id, id, key, name, lookup_id, source_template_key, is_enabled, settings, webhook_secret)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::json, $9)
returning id, key, name, lookup_id, source_template_key, is_enabled, settings::text as settings, created_at
