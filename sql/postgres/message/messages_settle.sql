-- What became of messages; nobody sends them any more. $2: now.
update message
set
    status = given.status,
    provider_message_id = coalesce(given.provider_message_id, message.provider_message_id),
    next_attempt_at = given.next_attempt_at,
    reason = given.reason,
    error = given.error,
    sent_at = case when given.status = 'sent' then $2::timestamptz else sent_at end,
    failed_at = case when given.status = 'failed' then $2::timestamptz else failed_at end,
    claim = null,
    claimed_until = null,
    begun_at = null,
    may_have_arrived = may_have_arrived or given.may_have = 1
from unnest($3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::integer[]) as given (
    id, status, provider_message_id, next_attempt_at, reason, error, may_have
)
where message.brand_id = $1 and message.id = given.id and message.status = 'queued'
