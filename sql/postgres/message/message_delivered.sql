-- A gateway says that a message arrived, by our id ($5), else by its own ($4): the newest that has it, as a
-- gateway that replaced another may count from one again. $3: when. A word that comes before the answer
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
