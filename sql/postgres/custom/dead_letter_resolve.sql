update dead_letter
set resolved_at = now(), body = ''
where brand_id = $1 and provider_id = $2 and event_id = $3 and resolved_at is null
