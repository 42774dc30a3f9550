-- migrate:up

-- As before, but no more than 2,000 messages are read by the index of words: of words that more have, the newest with them
-- are looked for among the newest 10,000 of the brand, and all are read only where too few conversations have said them
-- lately. Whatever the statistics say of a brand, the index of words and the order of the newest are used: hence no scan of
-- the table and no sort where an index has the order.
create or replace function search_messages(brand uuid, words text, most integer)
returns table (conversation_id uuid, message_id uuid, body text, created_at timestamptz)
language sql stable security definer rows 50
set search_path = public
set enable_seqscan = off
set enable_sort = off
begin atomic
    with asked as materialized (
        select websearch_to_tsquery('simple', words) && ('''brand:' || brand::text || '''')::tsquery as query
        where brand = current_brand() and numnode(websearch_to_tsquery('simple', words)) > 0
    ),

    some_said as materialized (
        select said.*
        from asked
        cross join lateral (
            select message.conversation_id, message.id, message.body, message.created_at
            from message
            where
                message.brand_id::text = brand::text
                and message.status <> 'queued'
                and not message.deleted
                and message_words(message.brand_id, message.body) @@ asked.query
            limit 2001
        ) as said
    ),

    said_often as materialized (
        select query from asked where (select count(*) from some_said) > 2000
    ),

    said_lately as materialized (
        select newest.conversation_id, newest.id, newest.body, newest.created_at
        from said_often
        cross join lateral (
            select * from message
            where message.brand_id = brand and message.status <> 'queued'
            order by message.created_at desc, message.id desc
            limit 10000
        ) as newest
        where not newest.deleted and message_words(newest.brand_id, newest.body) @@ said_often.query
        limit 1000
    ),

    said_before as materialized (
        select query from said_often where (select count(distinct said_lately.conversation_id) from said_lately) < most
    ),

    said as (
        select * from some_said where not exists (select from said_often)
        union all
        select * from said_lately where not exists (select from said_before)
        union all
        select message.conversation_id, message.id, message.body, message.created_at
        from said_before
        join message on message_words(message.brand_id, message.body) @@ said_before.query
        where message.brand_id::text = brand::text and message.status <> 'queued' and not message.deleted
    )

    select newest.conversation_id, newest.id, newest.body, newest.created_at
    from (
        select distinct on (said.conversation_id) said.*
        from said
        order by said.conversation_id, said.created_at desc, said.id desc
    ) as newest
    order by newest.created_at desc, newest.id desc
    limit most;
end;

-- migrate:down
