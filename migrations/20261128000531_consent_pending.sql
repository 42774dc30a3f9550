-- migrate:up

-- Who began a double opt-in and did not confirm it has not agreed, and is not to be messaged. It is a word on an address, and
-- none of the person as a refusal is: whoever agreed at another address goes on being messaged there.
alter table contact
drop constraint contact_sms_consent_check,
drop constraint contact_email_consent_check,
add constraint contact_sms_consent_check check (sms_consent in ('subscribed', 'unsubscribed', 'unknown', 'pending')),
add constraint contact_email_consent_check check (email_consent in ('subscribed', 'unsubscribed', 'unknown', 'pending'));
alter table contact_consent
drop constraint contact_consent_state_check,
add constraint contact_consent_state_check check (state in ('subscribed', 'unsubscribed', 'unknown', 'pending'));

-- What the newest words come to: of two at the same instant the one that forbids, but a yes that confirms counts.
create function consent_said(
    refused timestamptz,
    agreed timestamptz,
    agreed_elsewhere timestamptz,
    taken_back timestamptz,
    taken_back_dated timestamptz,
    pending timestamptz
) returns text
language sql immutable
return (
    case
        when refused >= coalesce(agreed, '-infinity') then 'unsubscribed'
        when agreed >= coalesce(taken_back, agreed) then 'subscribed'
        when agreed_elsewhere >= coalesce(taken_back_dated, agreed_elsewhere) then 'subscribed'
        when pending >= taken_back then 'pending'
        else 'unknown'
    end
);

-- As before; but `pending` takes a yes back as `unknown` does, and shows until the next word on the address.
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
            max(at) filter (where state in ('unknown', 'pending') and word.address = own.address) as taken_back,
            max(at) filter (
                where state in ('unknown', 'pending') and word.address = own.address and source <> 'store record'
            ) as taken_back_dated,
            max(at) filter (where state = 'pending' and word.address = own.address) as pending
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
            greatest(refused, refused_by_others($1, $2, $3, own.address)),
            agreed, agreed_elsewhere, taken_back, taken_back_dated, pending
        )
    from newest
    cross join own;
end;

drop function consent_said (timestamptz, timestamptz, timestamptz, timestamptz, timestamptz);

-- As before, with `pending`.
create or replace function merge_consents(brand uuid, merged integer[]) returns void
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
                max(at) filter (where state in ('unknown', 'pending')) as taken_back,
                max(at) filter (where state in ('unknown', 'pending') and source <> 'store record') as taken_back_dated,
                max(at) filter (where state = 'pending') as pending
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
                    agreed, agreed_elsewhere, taken_back, taken_back_dated, pending
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
