-- A gateway says that a message it took did not arrive. $3: when, $6: why, which may name somebody:
-- of a message of nobody it is not kept. Which one is meant: see message_delivered.
update message
set
    status = 'failed', failed_at = $3, reason = 'send_failed', error = case when contact_id is not null then $6 end,
    next_attempt_at = null, claim = null, claimed_until = null
where
    brand_id = $1
    and channel = $2
    and direction = 'outbound'
    and status in ('queued', 'sent')
    and id = (
        select id
        from (
            select id, begun_at, sent_at, created_at
            from message
            where brand_id = $1 and idempotency_key = $5
            union all
            select id, begun_at, sent_at, created_at
            from message
            where brand_id = $1 and provider_message_id = $4 and $5::text is null and channel = $2 and direction = 'outbound'
        ) as meant
        order by coalesce(begun_at, sent_at, created_at) desc
        limit 1
    )
returning id, conversation_id, error
