-- The open conversation that whoever has an address ($3: email, $4: phone) goes on with on channel $2: the newest in which
-- something was said to them, or that they began, else the newest. Where they want no more messages ($5), an address that
-- no contact has any more is that of the customer who had it: somebody else may have it by now, but no more is said to it.
with named as materialized (
    select brand_id, id from contact where brand_id = $1 and email = $3
    union all
    select brand_id, id from contact where brand_id = $1 and phone = $4
),

whose as (
    select brand_id, id from named
    union all
    select identifier.brand_id, person.id
    from identifier
    cross join lateral contacts_of_person(identifier.brand_id, identifier.subject) as person (id)
    where
        identifier.brand_id = $1
        and (identifier.kind = 'email' and identifier.value = $3 or identifier.kind = 'phone' and identifier.value = $4)
        and $5::boolean
        and not exists (select from named)
)

select conversation.id, contact_id
from whose
cross join lateral (
    -- `offset 0`: a lookup by contact, not by channel.
    select * from conversation where conversation.brand_id = whose.brand_id and conversation.contact_id = whose.id offset 0
) as conversation
where channel = $2 and conversation.status = 'open' and not conversation.deleted
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
