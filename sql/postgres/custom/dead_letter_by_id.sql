select id, provider_id, event_id, event_type, reason, attempts, received_at, failed_at, resolved_at, body
from dead_letter
where brand_id = $1 and id = $2
