-- what: conversations begun, messages sent and orders recovered, each with what it counts as in the statistics of campaigns
-- grain: kind, id
-- refresh: at every read

-- A conversation in which something was said counts at its beginning, whatever came of it later; a message when it was
-- sent, an order when it was placed. Rates divide sums: recovery_rate is sum(recovered) / sum(conversations). Tracked are
-- messages of a channel that tells of deliveries, which no mail server does. Orders in another currency than the brand's
-- make their conversation recovered, and count nowhere else. A view, so that the last minute counts: a mart would wait for
-- the next refresh.
with said as (
    select
        conversation_id,
        bool_or(direction = 'inbound') as replied
    from stg_messages
    where direction = 'inbound' or sent_at is not null
    group by conversation_id
),

recovered as (
    select distinct conversation_id
    from stg_attributions
    where recovered
),

clicked as (
    select distinct message_id
    from stg_link_clicks
),

counted as (
    select
        'conversation' as kind,
        conversation_id as id,
        campaign_id,
        conversation_id,
        created_at as happened_at,
        1 as conversations,
        said.replied::integer as replied,
        (opted_out_at is not null)::integer as opted_out,
        (conversation_id in (from recovered))::integer as recovered
    from stg_conversations
    inner join said using (conversation_id)
    union all by name
    select
        'message' as kind,
        message_id as id,
        campaign_id,
        conversation_id,
        sent_at as happened_at,
        1 as messages,
        (channel = 'sms')::integer as tracked,
        (delivered_at is not null)::integer as delivered,
        (message_id in (from clicked))::integer as clicked
    from stg_messages
    where direction = 'outbound'
        and sent_at is not null
    union all by name
    select
        'order' as kind,
        order_id as id,
        campaign_id,
        conversation_id,
        ordered_at as happened_at,
        1 as orders,
        amount as sales
    from stg_attributions
    inner join params using (currency_code)
    where recovered
)

select
    kind,
    id,
    campaign_id,
    conversation_id,
    happened_at,
    coalesce(conversations, 0) as conversations,
    coalesce(replied, 0) as replied,
    coalesce(opted_out, 0) as opted_out,
    coalesce(recovered, 0) as recovered,
    coalesce(messages, 0) as messages,
    coalesce(tracked, 0) as tracked,
    coalesce(delivered, 0) as delivered,
    coalesce(clicked, 0) as clicked,
    coalesce(orders, 0) as orders,
    coalesce(sales, 0)::decimal(18, 2) as sales
from counted
