-- Conversations and runs stay as figures of nobody. A message that came once more while an erasure committed has the hash of
-- the one before it, and gets one of its own.
update message
set
    idempotency_key = case
        when direction <> 'inbound' then idempotency_key
        when exists (
            select from message as before
            where before.brand_id = message.brand_id and before.idempotency_key = erased_id($1, message.idempotency_key)
        ) then erased_id($1, id::text)
        else erased_id($1, idempotency_key)
    end,
    body = '', headline = null, address = null, provider_message_id = null, error = null, next_attempt_at = null,
    status = case status when 'queued' then 'failed' else status end, failed_at = case status when 'queued' then now() else failed_at end
where brand_id = $1 and contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5)))
