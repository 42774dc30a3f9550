-- The open conversation that whoever has an address ($3: email, $4: phone) goes on with on channel $2: the newest in which
-- something was said to them, or that they began, else the newest.
select conversation.id, run_id, contact_id
from conversation
join contact on contact.brand_id = conversation.brand_id and contact.id = contact_id
where
    conversation.brand_id = $1
    and channel = $2
    and conversation.status = 'open'
    and not conversation.deleted
    and (contact.email = $3 or contact.phone = $4)
order by
    (
        run_id is null
        or exists (
            select
            from message
            where
                message.brand_id = conversation.brand_id
                and message.conversation_id = conversation.id
                and direction = 'outbound'
                and message.status in ('sent', 'delivered')
        )
    ) desc,
    conversation.created_at desc,
    conversation.id desc
limit 1
