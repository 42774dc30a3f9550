-- Checkouts that conversations of some customers ($2) are about, and when their shopper was messaged first.
with messaged as (
    select conversation.checkout_id, min(message.sent_at) as messaged_at
    from conversation
    join message on message.brand_id = $1 and message.conversation_id = conversation.id
    where
        conversation.brand_id = $1
        and conversation.subject in (
            select unnest($2::integer[])
            union
            select subject
            from subject_redirect
            where brand_id = $1 and customer = any($2::integer[]) and not deleted
        )
        and conversation.checkout_id is not null
        and message.direction = 'outbound'
        and message.status in ('sent', 'delivered')
    group by conversation.checkout_id
)

update checkout
set messaged_at = messaged.messaged_at
from messaged
where
    checkout.brand_id = $1
    and checkout.id = messaged.checkout_id
    and (checkout.messaged_at is null or checkout.messaged_at > messaged.messaged_at)
returning checkout.external_id
