-- Checkouts that conversations of some customers ($2) are about, and when their shopper was messaged first.
with theirs as (
    select $1::uuid as brand_id, customer as subject
    from unnest($2::integer[]) as customer
    union
    select brand_id, subject
    from subject_redirect
    where brand_id = $1 and customer = any($2::integer[]) and not deleted
),

messaged as (
    select brand_id, checkout_id, min(message.sent_at) as messaged_at
    from theirs
    join conversation using (brand_id, subject)
    join message using (brand_id)
    where
        message.conversation_id = conversation.id
        and conversation.checkout_id is not null
        and message.direction = 'outbound'
        and message.status in ('sent', 'delivered')
    group by brand_id, checkout_id
)

update checkout
set messaged_at = messaged.messaged_at
from messaged
where
    checkout.brand_id = messaged.brand_id
    and checkout.id = messaged.checkout_id
    and checkout.messaged_at is distinct from messaged.messaged_at
returning checkout.external_id
