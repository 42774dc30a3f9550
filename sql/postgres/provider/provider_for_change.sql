select id, key, name, lookup_id, source_template_key, is_enabled, settings::text as settings, created_at
from provider
where brand_id = $1 and id = $2
for update
