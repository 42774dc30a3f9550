-- migrate:up

-- As before, but by the index of words whatever is known of a brand's rows: its id is compared as text, which no index
-- has, and only a page of conversations is expected.
create or replace function search_messages(brand uuid, words text, most integer)
returns table (conversation_id uuid, message_id uuid, body text, created_at timestamptz)
language sql stable security definer rows 50
set search_path = public
begin atomic
    select newest.conversation_id, newest.id, newest.body, newest.created_at
    from (
        select distinct on (message.conversation_id) message.conversation_id, message.id, message.body, message.created_at
        from message
        where
            message.brand_id::text = brand::text
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

-- migrate:down
