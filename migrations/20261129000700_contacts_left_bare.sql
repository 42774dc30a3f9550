-- migrate:up

-- A contact of nobody whose last channel a customer took is the customer's; those of before, by what was said at their
-- addresses. Nothing else tells whose they are.
do $$
declare
    linked record;
begin
    for linked in
        with bare as materialized (
            select brand_id, id from contact where subject is null and email is null and phone is null
        ),

        told as (
            select bare.brand_id, bare.id, word.at, channel, address
            from bare
            cross join lateral (
                select at, channel, address from contact_consent
                where brand_id = bare.brand_id and contact_id = bare.id and address <> ''
            ) as word
            union all
            select bare.brand_id, bare.id, letter.created_at, channel, address
            from bare
            cross join lateral (
                select created_at, channel, address from message
                where brand_id = bare.brand_id and contact_id = bare.id and address is not null
            ) as letter
            union all
            select bare.brand_id, bare.id, event.updated_at, 'email', event.address
            from bare
            cross join lateral (
                select
                    custom_event.updated_at,
                    -- Others cannot be read by Postgres.
                    case
                        when data::text !~* '\\u(0000|d[89a-f])'
                            then lower(trim(data #>> string_to_array(
                                regexp_replace(identifier_mappings ->> 'email_path', '^\$\.', ''), '.'
                            )))
                    end as address
                from custom_event
                join event_definition
                    on event_definition.brand_id = custom_event.brand_id and event_definition.id = definition_id
                where custom_event.brand_id = bare.brand_id and contact_id = bare.id
            ) as event
        ),

        -- The newest first.
        meant as (
            select distinct on (told.brand_id, told.id) told.brand_id, told.id, holder.subject
            from told
            cross join lateral (
                select meant_by(told.brand_id, case channel when 'sms' then 'phone' else 'email' end, address) as subject
                offset 0
            ) as holder
            where holder.subject is not null
            order by told.brand_id, told.id, told.at desc
        )

        update contact
        set subject = meant.subject, updated_at = now()
        from meant
        where contact.brand_id = meant.brand_id and contact.id = meant.id
        returning contact.brand_id, contact.subject
    loop
        perform merge_consents(linked.brand_id, array[linked.subject]);
    end loop;
end
$$;

-- migrate:down
