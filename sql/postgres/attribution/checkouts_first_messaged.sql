-- Checkouts that conversations of some customers ($2) are about, and when their shopper was messaged first: never, of one that is
-- not completed yet, where each message has failed.
with theirs as (
    select $1::uuid as brand_id, customer as subject
    from unnest($2::integer[]) as customer
    union
    select brand_id, subject
    from subject_redirect
    where brand_id = $1 and customer = any($2::integer[]) and not deleted
),

talks as materialized (
    select brand_id, conversation.id, checkout_id
    from theirs
    join conversation using (brand_id, subject)
    where checkout_id is not null
),

messaged as (
    select talks.brand_id, checkout_id, min(said.sent_at) as messaged_at
    from talks
    -- In the order of the index by conversation: see attribution_put.
    left join lateral (
        select direction, status, sent_at
        from message
        where message.brand_id = talks.brand_id and message.conversation_id = talks.id
        order by message.created_at, message.id
        offset 0
    ) as said on said.direction = 'outbound' and said.status in ('sent', 'delivered')
    group by talks.brand_id, checkout_id
)

update checkout
set messaged_at = messaged.messaged_at
from messaged
where
    checkout.brand_id = messaged.brand_id
    and checkout.id = messaged.checkout_id
    and checkout.messaged_at is distinct from messaged.messaged_at
    and (messaged.messaged_at is not null or checkout.completed_at is null)
returning checkout.external_id
