-- Messages to be sent, at once. $2: now.
insert into message (
    brand_id, id, conversation_id, contact_id, idempotency_key, direction, author, channel, headline, body, answers, status,
    next_attempt_at, created_at
)
select
    $1, id, conversation_id, contact_id, idempotency_key, 'outbound', author, channel, headline, body, answers, 'queued', $2, $2
from unnest(
    $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::uuid[]
) as given (
    id, conversation_id, contact_id, idempotency_key, author, channel, headline, body, answers
)
