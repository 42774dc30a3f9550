-- A message that came in. $7: when.
insert into message (
    brand_id, id, conversation_id, contact_id, idempotency_key, direction, author, channel, body, status,
    provider_message_id, created_at
)
values ($1, $2, $3, $4, $5, 'inbound', 'contact', $6, $8, 'received', $9, $7)
