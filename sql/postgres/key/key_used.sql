-- At most one write a minute per key, however many processes see it used.
update api_key
set last_used_at = now()
where brand_id = $1 and id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')
