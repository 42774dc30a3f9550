-- Conversations and runs stay as figures of nobody.
update message
set
    idempotency_key = case direction when 'inbound' then erased_id($1, idempotency_key) else idempotency_key end,
    body = '', headline = null, address = null, provider_message_id = null, error = null, next_attempt_at = null,
    status = case status when 'queued' then 'failed' else status end, failed_at = case status when 'queued' then now() else failed_at end
where brand_id = $1 and contact_id in (select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5))
