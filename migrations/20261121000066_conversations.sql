-- migrate:up

-- A conversation with its checkout, and what was recovered by it.
create view conversation_shown with (security_invoker = true) as
select
    conversation.brand_id, conversation.id, conversation.contact_id, conversation.campaign_id, conversation.status,
    conversation.channel, conversation.goal_until, conversation.last_message_at, conversation.created_at,
    conversation.updated_at, checkout.id as checkout_id, checkout.state as checkout_state,
    checkout.total::text as checkout_total, checkout.currency_code as checkout_currency_code, checkout.url as checkout_url,
    recovered.order_id, recovered.amount::text as recovered_amount
from conversation
left join checkout
    on checkout.brand_id = conversation.brand_id and checkout.id = conversation.checkout_id and not checkout.deleted
-- The first order, and what all in its currency come to.
left join lateral (
    select
        (array_agg(order_id order by ordered_at, order_id))[1] as order_id,
        sum(amount) filter (where currency_code = first_currency) as amount
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
grant select on conversation_shown to recoup_app;

-- The words of a message, and a word for its brand: an index of all brands' messages finds one brand's by it.
create function message_words(brand uuid, body text) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(array['brand:' || brand::text]) || to_tsvector('simple', body);
create index message_words on message using gin (message_words(brand_id, body)) where status <> 'queued';

-- The newest message with the words in each conversation of the present brand, newest first. Row-level security would
-- keep a search from the index, so this reads past it, and filters the brand itself.
create function search_messages(brand uuid, words text, most integer)
returns table (conversation_id uuid, message_id uuid, body text, created_at timestamptz)
language sql stable security definer
set search_path = public
begin atomic
    select newest.conversation_id, newest.id, newest.body, newest.created_at
    from (
        select distinct on (message.conversation_id) message.conversation_id, message.id, message.body, message.created_at
        from message
        where
            message.brand_id = brand
            and brand = current_brand()
            and message.status <> 'queued'
            and not message.deleted
            and numnode(websearch_to_tsquery('simple', words)) > 0
            and message_words(message.brand_id, message.body)
            @@ (websearch_to_tsquery('simple', words) && ('''brand:' || brand::text || '''')::tsquery)
        order by message.conversation_id, message.created_at desc, message.id desc
    ) as newest
    order by newest.created_at desc, newest.id desc
    limit most;
end;
revoke all on function search_messages from public;
grant execute on function search_messages to recoup_app;

-- migrate:down
