select id, key, name, lookup_id, source_template_key, is_enabled, settings::text as settings, created_at
from provider
where brand_id = $1
order by created_at, id
