-- migrate:up

-- As before, with the currency of what was recovered.
create or replace view conversation_shown with (security_invoker = true) as
select
    conversation.brand_id, conversation.id, conversation.contact_id, conversation.campaign_id, conversation.status,
    conversation.channel, conversation.goal_until, conversation.last_message_at, conversation.created_at,
    conversation.updated_at, checkout.id as checkout_id, checkout.state as checkout_state,
    checkout.total::text as checkout_total, checkout.currency_code as checkout_currency_code, checkout.url as checkout_url,
    recovered.order_id, recovered.amount::text as recovered_amount, recovered.currency_code as recovered_currency_code
from conversation
left join checkout
    on checkout.brand_id = conversation.brand_id and checkout.id = conversation.checkout_id and not checkout.deleted
-- The first order, its currency, and what all in that come to.
left join lateral (
    select
        (array_agg(order_id order by ordered_at, order_id))[1] as order_id,
        sum(amount) filter (where currency_code = first_currency) as amount,
        min(first_currency) as currency_code
    from (
        select *, first_value(currency_code) over (order by ordered_at, order_id) as first_currency
        from attribution
        where
            attribution.brand_id = conversation.brand_id
            and attribution.conversation_id = conversation.id
            and attribution.recovered
    ) as orders
    having count(*) > 0
) as recovered on true
where not conversation.deleted;

-- migrate:down
