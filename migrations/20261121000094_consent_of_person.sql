-- migrate:up

-- Contacts of whoever a subject is today, by any of the profiles that are theirs.
create function contacts_of_person(brand uuid, person integer) returns setof uuid
language sql stable
begin atomic
    with survivor as (
        select coalesce(
            (
                select redirect.customer from subject_redirect as redirect
                where redirect.brand_id = $1 and redirect.subject = $2 and not redirect.deleted
            ),
            $2
        ) as customer
    ),

    theirs as (
        select customer as subject from survivor
        union all
        select redirect.subject
        from survivor
        join subject_redirect as redirect
            on redirect.brand_id = $1 and redirect.customer = survivor.customer and not redirect.deleted
    )

    select contact.id from theirs join contact on contact.brand_id = $1 and contact.subject = theirs.subject;
end;

-- What a contact shows of a channel. A yes is about the address that it was given for, a no about the person, whichever of
-- their contacts it came by, and about the address whosever it becomes: the newest of these counts, and of two at the same
-- instant the one that forbids. `unknown` takes a yes back, never a no; without a time (`store record`) only one that the
-- store gave.
create function consent_now(brand uuid, contact_id uuid, channel text) returns text
language sql stable
begin atomic
    with own as (
        select subject, case when $3 = 'sms' then phone else email end as address
        from contact
        where contact.brand_id = $1 and contact.id = $2
    ),

    theirs as (
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
        join contact_consent as word on word.brand_id = $1 and word.contact_id = theirs.id and word.channel = $3
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

-- A contact that becomes somebody's is refused as their others are, too.
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
        join contact on contact.brand_id = new.brand_id and contact.id = person.id and contact.id <> new.id;
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
create trigger refuse_as_person before update of subject on contact
for each row when (new.subject is distinct from old.subject)
execute function refuse_as_others();

-- migrate:down
