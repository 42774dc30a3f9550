-- migrate:up

-- Below this transaction the orders, conversations, messages, clicks and merges of all brands were looked at for
-- attribution.
create table attribution_state (
    only_row boolean primary key default true check (only_row),
    looked_below xid8 not null default '0'
);
insert into attribution_state default values;

-- What attribution and the event journey look up.
create index attribution_order_campaign on attribution (brand_id, campaign_id, ordered_at);
create index conversation_checkout on conversation (brand_id, checkout_id) where checkout_id is not null;
create index conversation_campaign on conversation (brand_id, campaign_id, created_at desc, id desc);

-- Conversations of a contact are its customer's from the moment that this is known; the lake is told of their messages, too.
create function follow_contact() returns trigger
language plpgsql
as $$
begin
    with linked as (
        select told.brand_id, told.id, told.subject
        from told
        join known using (brand_id, id)
        where told.subject is not null and known.subject is null
    ),

    begun as (
        update conversation
        set subject = linked.subject
        from linked
        where
            conversation.brand_id = linked.brand_id
            and conversation.contact_id = linked.id
            and conversation.subject is null
        returning conversation.brand_id, conversation.id
    )

    update message
    set conversation_id = begun.id
    from begun
    where message.brand_id = begun.brand_id and message.conversation_id = begun.id;
    return null;
end
$$;
create trigger follow_contact after update on contact
referencing old table as known new table as told
for each statement execute function follow_contact();

-- migrate:down
