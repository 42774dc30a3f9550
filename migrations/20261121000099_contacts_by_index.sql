-- migrate:up

-- Of a brand that the statistics of a table do not have yet Postgres expects one row: any index that begins with the brand
-- is as good to it as the one of the key, and the plans of triggers stay. All contacts of the brand were read for each
-- contact that was added: 3,000 took 8 s, the next 3,000 25 s; 11,000 merges of a brand's first import took a transaction of
-- hours, which every brand's tick waited for.

-- Refusals are few, and so is what stands in these: whoever is new looks there first.
create index contact_refused on contact (brand_id, subject)
where sms_consent = 'unsubscribed' or email_consent = 'unsubscribed';
create index contact_consent_refused on contact_consent (brand_id, address) where state = 'unsubscribed' and address <> '';

-- Whoever a subject is today, by all of the profiles that are theirs. That a brand is asked for by a SELECT hides its value
-- from the plan: what is expected are the rows of any brand.
create function subjects_of_person(brand uuid, person integer) returns setof integer
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
    )

    select customer from survivor
    union all
    select merged.subject
    from survivor
    cross join lateral (
        select redirect.subject from subject_redirect as redirect
        where redirect.brand_id = (select $1) and redirect.customer = survivor.customer and not redirect.deleted
        offset 0
    ) as merged;
end;

create or replace function contacts_of_person(brand uuid, person integer) returns setof uuid
language sql stable
begin atomic
    select own.id
    from subjects_of_person($1, $2) as theirs (subject)
    cross join lateral (
        select contact.id from contact
        where contact.brand_id = (select $1) and contact.subject = theirs.subject
        offset 0
    ) as own;
end;

-- When others last refused messages at an address, unless one of them agreed since; null: nobody did.
create or replace function refused_by_others(brand uuid, contact_id uuid, channel text, address text) returns timestamptz
language sql stable
return (
    select max(refusal.at)
    from contact_consent as refusal
    where
        refusal.brand_id = $1
        and refusal.address = $4
        and refusal.address <> ''
        and refusal.state = 'unsubscribed'
        and refusal.channel = $3
        and refusal.contact_id <> $2
    having
        max(refusal.at) >= coalesce(
            (
                select max(agreed.at)
                from contact_consent as agreed
                where
                    agreed.brand_id = (select $1)
                    and agreed.address = $4
                    and agreed.address <> ''
                    and agreed.state = 'subscribed'
                    and agreed.channel = $3
                    and agreed.contact_id <> $2
            ),
            '-infinity'
        )
);

-- What the newest words come to: of two at the same instant the one that forbids.
create function consent_said(
    refused timestamptz,
    agreed timestamptz,
    agreed_elsewhere timestamptz,
    taken_back timestamptz,
    taken_back_dated timestamptz
) returns text
language sql immutable
return (
    case
        when refused >= coalesce(agreed, '-infinity') then 'unsubscribed'
        when agreed >= coalesce(taken_back, agreed) then 'subscribed'
        when agreed_elsewhere >= coalesce(taken_back_dated, agreed_elsewhere) then 'subscribed'
        else 'unknown'
    end
);

-- As before; but rows are looked up by their keys. What a contact shows of a channel. A yes is about the address that it was given for, a no about the person, whichever of
-- their contacts it came by, and about the address whosever it becomes: the newest of these counts, and of two at the same
-- instant the one that forbids. `unknown` takes a yes back, never a no; without a time (`store record`) only one that the
-- store gave.
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

    select consent_said(
            greatest(refused, refused_by_others($1, $2, $3, own.address)), agreed, agreed_elsewhere, taken_back, taken_back_dated
        )
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
    if
        new.subject is not null
        and exists (
            select from contact
            where brand_id = new.brand_id and (sms_consent = 'unsubscribed' or email_consent = 'unsubscribed')
        )
    then
        select
            coalesce(bool_or(sms_consent = 'unsubscribed'), false) as sms,
            coalesce(bool_or(email_consent = 'unsubscribed'), false) as email
        into refused
        from subjects_of_person(new.brand_id, new.subject) as theirs (subject)
        cross join lateral (
            select sms_consent, email_consent
            from contact
            where
                contact.brand_id = new.brand_id
                and contact.subject = theirs.subject
                and (sms_consent = 'unsubscribed' or email_consent = 'unsubscribed')
                and contact.id <> new.id
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

-- Contacts of those who were made one with another, or taken apart, show what was said by them: as `consent_now`, but what
-- a person said is read once for all of their contacts. Planned each time, for tables as large as they are then.
create function merge_consents(brand uuid, merged integer[]) returns void
language plpgsql
as $$
begin
    execute $sql$
        with persons as materialized (
            select distinct coalesce(redirect.customer, given.subject) as person
            from unnest($2) as given (subject)
            left join lateral (
                select customer from subject_redirect
                where brand_id = (select $1) and subject = given.subject and not deleted
                offset 0
            ) as redirect on true
        ),

        own as materialized (
            select
                persons.person,
                contact.id,
                channel.name as channel,
                case channel.name when 'sms' then contact.phone else contact.email end as address,
                case channel.name when 'sms' then contact.sms_consent else contact.email_consent end as shown
            from persons
            cross join lateral subjects_of_person($1, persons.person) as theirs (subject)
            cross join lateral (
                select id, phone, email, sms_consent, email_consent from contact
                where brand_id = (select $1) and contact.subject = theirs.subject
                offset 0
            ) as contact
            cross join (values ('sms'), ('email')) as channel (name)
        ),

        words as materialized (
            select own.person, own.channel, word.address, word.state, word.source, word.at
            from own
            cross join lateral (
                select address, state, source, at from contact_consent
                where brand_id = (select $1) and contact_id = own.id and channel = own.channel
                offset 0
            ) as word
        ),

        refusals as materialized (
            select person, channel, max(at) as refused
            from words
            where state = 'unsubscribed'
            group by person, channel
        ),

        newest as materialized (
            select
                person,
                channel,
                address,
                max(at) filter (where state = 'subscribed') as agreed,
                max(at) filter (where state = 'subscribed' and source not in ('store', 'store record')) as agreed_elsewhere,
                max(at) filter (where state = 'unknown') as taken_back,
                max(at) filter (where state = 'unknown' and source <> 'store record') as taken_back_dated
            from words
            group by person, channel, address
        ),

        today as (
            select
                own.id,
                own.channel,
                own.shown,
                consent_said(
                    greatest(refused, refused_by_others($1, own.id, own.channel, own.address)),
                    agreed, agreed_elsewhere, taken_back, taken_back_dated
                ) as said
            from own
            left join refusals using (person, channel)
            left join newest using (person, channel, address)
        ),

        changed as materialized (
            select
                id,
                max(said) filter (where channel = 'sms') as sms,
                max(said) filter (where channel = 'email') as email
            from today
            group by id
            having bool_or(shown <> said)
        )

        update contact
        set sms_consent = changed.sms, email_consent = changed.email, updated_at = now()
        from changed
        where contact.brand_id = $1 and contact.id = changed.id
    $sql$ using brand, merged;
end
$$;

-- migrate:down
