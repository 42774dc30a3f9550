-- migrate:up

-- As before; but the brand is asked for by a SELECT, so that its value is not known when a statement is planned. Of a brand
-- that statistics do not have yet no row is expected: then any index that begins with the brand is as good as the one on
-- all of the key, and each person is looked for among all redirects and contacts of the brand.
create or replace function refused_by_others(brand uuid, contact_id uuid, channel text, address text) returns timestamptz
language sql stable
return (
    select
        case
            when max(at) filter (where state = 'unsubscribed') >= coalesce(max(at) filter (where state = 'subscribed'), '-infinity')
                then max(at) filter (where state = 'unsubscribed')
        end
    from contact_consent as word
    where
        word.brand_id = (select $1)
        and word.address = $4
        and word.address <> ''
        and word.channel = $3
        and word.contact_id <> $2
);

create or replace function contacts_of_person(brand uuid, person integer) returns setof uuid
language sql stable
begin atomic
    with survivor as materialized (
        select coalesce(
            (
                select redirect.customer from subject_redirect as redirect
                where redirect.brand_id = (select $1) and redirect.subject = $2 and not redirect.deleted
            ),
            $2
        ) as customer
    ),

    theirs as materialized (
        select customer as subject from survivor
        union all
        select merged.subject
        from survivor
        cross join lateral (
            select redirect.subject from subject_redirect as redirect
            where redirect.brand_id = (select $1) and redirect.customer = survivor.customer and not redirect.deleted
            offset 0
        ) as merged
    )

    select own.id
    from theirs
    cross join lateral (
        select contact.id from contact
        where contact.brand_id = (select $1) and contact.subject = theirs.subject
        offset 0
    ) as own;
end;

create or replace function consent_now(brand uuid, contact_id uuid, channel text) returns text
language sql stable
begin atomic
    with own as materialized (
        select subject, case when $3 = 'sms' then phone else email end as address
        from contact
        where contact.brand_id = (select $1) and contact.id = $2
    ),

    theirs as materialized (
        select $2 as id
        union
        select person.id from own cross join lateral contacts_of_person($1, own.subject) as person (id)
        where own.subject is not null
    ),

    newest as (
        select
            max(at) filter (where state = 'unsubscribed') as refused,
            max(at) filter (where state = 'subscribed' and word.address = own.address) as agreed,
            max(at) filter (
                where state = 'subscribed' and word.address = own.address and source not in ('store', 'store record')
            ) as agreed_elsewhere,
            max(at) filter (where state = 'unknown' and word.address = own.address) as taken_back,
            max(at) filter (
                where state = 'unknown' and word.address = own.address and source <> 'store record'
            ) as taken_back_dated
        from theirs
        cross join lateral (
            select said.at, said.state, said.address, said.source
            from contact_consent as said
            where said.brand_id = (select $1) and said.contact_id = theirs.id and said.channel = $3
            offset 0
        ) as word
        cross join own
    )

    select
        case
            when greatest(refused, refused_by_others($1, $2, $3, own.address)) >= coalesce(agreed, '-infinity')
                then 'unsubscribed'
            when agreed >= coalesce(taken_back, agreed) then 'subscribed'
            when agreed_elsewhere >= coalesce(taken_back_dated, agreed_elsewhere) then 'subscribed'
            else 'unknown'
        end
    from newest
    cross join own;
end;

create or replace function refuse_as_others() returns trigger
language plpgsql
as $$
declare
    refused record;
begin
    if new.phone is not null and refused_by_others(new.brand_id, new.id, 'sms', new.phone) is not null then
        new.sms_consent := 'unsubscribed';
    end if;
    if new.email is not null and refused_by_others(new.brand_id, new.id, 'email', new.email) is not null then
        new.email_consent := 'unsubscribed';
    end if;
    if new.subject is not null then
        select
            coalesce(bool_or(sms_consent = 'unsubscribed'), false) as sms,
            coalesce(bool_or(email_consent = 'unsubscribed'), false) as email
        into refused
        from contacts_of_person(new.brand_id, new.subject) as person (id)
        cross join lateral (
            select sms_consent, email_consent
            from contact
            where contact.brand_id = (select new.brand_id) and contact.id = person.id and contact.id <> new.id
            offset 0
        ) as other;
        if refused.sms then
            new.sms_consent := 'unsubscribed';
        end if;
        if refused.email then
            new.email_consent := 'unsubscribed';
        end if;
    end if;
    return new;
end
$$;

-- migrate:down
