insert into dead_letter (brand_id, id, provider_id, event_id, event_type, email, phone, reason, body, definition_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (brand_id, provider_id, event_id) do update
set
    event_type = excluded.event_type,
    email = excluded.email,
    phone = excluded.phone,
    reason = excluded.reason,
    body = excluded.body,
    definition_id = excluded.definition_id,
    attempts = dead_letter.attempts + 1,
    failed_at = now(),
    resolved_at = null
returning id
