-- By id, key, or last part of the webhook URL.
select id, key, name, lookup_id, source_template_key, is_enabled, settings, created_at
from provider
where brand_id = $1 and (id::text = $2 or lower(key) = lower($2) or lookup_id = $2)
