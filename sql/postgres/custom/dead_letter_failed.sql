update dead_letter
set reason = $3, attempts = attempts + 1, failed_at = now()
where brand_id = $1 and id = $2 and resolved_at is null
