-- migrate:up

-- As before, with what was recovered in the brand's currency, when an order in it was.
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
-- The first order in the brand's currency, else the first one, its currency, and what all in that come to.
left join lateral (
    select
        (array_agg(order_id order by place))[1] as order_id,
        sum(amount) filter (where currency_code = shown_currency) as amount,
        min(shown_currency) as currency_code
    from (
        select
            order_id, amount, currency_code,
            row_number() over shown as place,
            first_value(currency_code) over shown as shown_currency
        from (
            select attribution.*, attribution.currency_code <> brand.currency_code as is_foreign
            from attribution
            join brand on brand.id = attribution.brand_id
            where
                attribution.brand_id = conversation.brand_id
                and attribution.conversation_id = conversation.id
                and attribution.recovered
        ) as recovering
        window shown as (order by is_foreign, ordered_at, order_id)
    ) as orders
    having count(*) > 0
) as recovered on true
where not conversation.deleted;

-- migrate:down
