-- Which conversation the orders of some customers ($2) follow, whatever came first, and however often it is asked: that
-- of the last outbound message or click of theirs within the window of the brand. An order that follows none any more
-- keeps the one that it had, and is not recovered by it. Returns the orders whose attribution changed, and when they were
-- recovered.
-- What is said is read in the order of the index by conversation, so that this one is taken: of a brand's first rows there
-- are no statistics, and without them the planner reads all of a brand's messages for each conversation.
with theirs as (
    select $1::uuid as brand_id, customer as subject, customer
    from unnest($2::integer[]) as customer
    union
    select redirect.brand_id, redirect.subject, redirect.customer
    from subject_redirect as redirect
    where redirect.brand_id = $1 and redirect.customer = any($2::integer[]) and not redirect.deleted
),

held_with as (
    select theirs.brand_id, conversation.id, campaign_id, created_at, customer
    from theirs
    join conversation using (brand_id, subject)
    where not conversation.deleted
    union
    select theirs.brand_id, conversation.id, campaign_id, conversation.created_at, customer
    from theirs
    join contact using (brand_id, subject)
    join conversation on conversation.brand_id = contact.brand_id and conversation.contact_id = contact.id
    where conversation.subject is null and not conversation.deleted
),

touches as materialized (
    select held_with.*, 'message' as touch, said.sent_at as touch_at
    from held_with
    cross join lateral (
        select direction, status, sent_at, deleted
        from message
        where message.brand_id = held_with.brand_id and message.conversation_id = held_with.id
        order by message.created_at, message.id
        offset 0
    ) as said
    where
        said.direction = 'outbound'
        and said.status in ('sent', 'delivered')
        and said.sent_at is not null
        and not said.deleted
    union all
    select held_with.*, 'click' as touch, clicked.at as touch_at
    from held_with
    cross join lateral (
        select at
        from link_click
        where link_click.brand_id = held_with.brand_id and link_click.conversation_id = held_with.id and not deleted
        order by at
        offset 0
    ) as clicked
),

placed as materialized (
    select
        theirs.brand_id,
        store_order.id,
        theirs.customer,
        store_order.created_at,
        store_order.state = 'complete' and not store_order.test and not store_order.deleted as counts,
        store_order.total - store_order.refunded_total as amount,
        store_order.currency_code
    from theirs
    join store_order using (brand_id, subject)
),

followed as (
    select distinct on (placed.id)
        placed.id as order_id, touches.id as conversation_id, touches.campaign_id, touches.touch, touches.touch_at
    from placed
    join touches using (customer)
    left join message_policy on message_policy.brand_id = placed.brand_id
    where
        touches.touch_at <= placed.created_at
        and touches.touch_at >= placed.created_at - coalesce(attribution_days, 7) * interval '24 hours'
    order by placed.id, touches.touch_at desc, touches.touch, touches.created_at desc, touches.id desc
),

known as materialized (
    select attribution.*
    from attribution
    where brand_id = $1 and order_id = any(array(select id from placed))
),

settled as (
    select
        placed.id as order_id,
        coalesce(followed.conversation_id, held.conversation_id) as conversation_id,
        case when followed.order_id is null then held.campaign_id else followed.campaign_id end as campaign_id,
        followed.order_id is not null as follows,
        followed.order_id is not null and placed.counts as recovered,
        coalesce(followed.touch, held.touch) as touch,
        coalesce(followed.touch_at, held.touch_at) as touch_at,
        placed.created_at as ordered_at,
        placed.amount,
        placed.currency_code
    from placed
    left join followed on followed.order_id = placed.id
    left join known as held on held.order_id = placed.id
    -- One that never counted has none.
    where held.order_id is not null or (followed.order_id is not null and placed.counts)
)

insert into attribution as held (
    brand_id, order_id, conversation_id, campaign_id, follows, recovered, touch, touch_at, ordered_at, amount,
    currency_code
)
select
    $1, order_id, conversation_id, campaign_id, follows, recovered, touch, touch_at, ordered_at, amount, currency_code
from settled
order by order_id
on conflict (brand_id, order_id) do update set
    conversation_id = excluded.conversation_id,
    campaign_id = excluded.campaign_id,
    follows = excluded.follows,
    recovered = excluded.recovered,
    touch = excluded.touch,
    touch_at = excluded.touch_at,
    ordered_at = excluded.ordered_at,
    amount = excluded.amount,
    currency_code = excluded.currency_code,
    updated_at = now()
where
    (
        held.conversation_id, held.campaign_id, held.follows, held.recovered, held.touch, held.touch_at, held.ordered_at,
        held.amount, held.currency_code
    ) is distinct from (
        excluded.conversation_id, excluded.campaign_id, excluded.follows, excluded.recovered, excluded.touch,
        excluded.touch_at, excluded.ordered_at, excluded.amount, excluded.currency_code
    )
returning held.order_id, case when held.recovered then held.ordered_at::text end as recovered_at
