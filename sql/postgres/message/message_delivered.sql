-- A gateway says that a message arrived, by its own id ($4) or by ours ($5). $3: when. A word that comes before the answer
-- to the attempt counts as well, and one about a message that was given up. The clock of the gateway may be behind.
-- A message of nobody gets no id of the gateway's back.
update message
set
    status = 'delivered', delivered_at = coalesce(delivered_at, greatest($3, sent_at, begun_at)),
    sent_at = coalesce(sent_at, greatest($3, begun_at)),
    provider_message_id = coalesce(provider_message_id, case when contact_id is not null then $4 end),
    next_attempt_at = null, claim = null, claimed_until = null, reason = null, error = null, failed_at = null
where
    brand_id = $1
    and channel = $2
    and direction = 'outbound'
    and (status in ('queued', 'sent') or (status = 'failed' and reason in ('send_unknown', 'send_failed')))
    and (provider_message_id = $4 or idempotency_key = $5)
returning id, conversation_id, error
