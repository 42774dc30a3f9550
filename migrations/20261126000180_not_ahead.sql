-- migrate:up

-- What the store dates ahead of our clock counts from when it came. What it had dated so kept out all that is true: the
-- next version of a record, and STOP.
update store_version
set updated_at = least(updated_at, now()), triggered_at = least(triggered_at, now())
where updated_at > now() or triggered_at > now();

create temporary table told_ahead on commit drop as
select distinct brand_id, contact_id, channel, address from contact_consent where at > now();

with ahead as (
    delete from contact_consent where at > now()
    returning brand_id, contact_id, channel, state, source, recorded_at, address
)

insert into contact_consent (brand_id, contact_id, channel, state, source, at, recorded_at, address)
select brand_id, contact_id, channel, state, source, least(recorded_at, now()), recorded_at, address
from ahead
on conflict do nothing;

-- Whose it was, their other contacts, and those who have the address.
update contact
set sms_consent = today.sms, email_consent = today.email, updated_at = now()
from (
    select brand_id, id, consent_now(brand_id, id, 'sms') as sms, consent_now(brand_id, id, 'email') as email
    from (
        select brand_id, contact_id as id from told_ahead
        union
        select own.brand_id, person.id
        from told_ahead
        join contact as own on own.brand_id = told_ahead.brand_id and own.id = told_ahead.contact_id
        cross join lateral contacts_of_person(own.brand_id, own.subject) as person (id)
        where own.subject is not null
        union
        select other.brand_id, other.id
        from told_ahead
        join contact as other
            on other.brand_id = told_ahead.brand_id
            and case told_ahead.channel when 'sms' then other.phone else other.email end = told_ahead.address
    ) as concerned
) as today
where
    contact.brand_id = today.brand_id
    and contact.id = today.id
    and (contact.sms_consent, contact.email_consent) is distinct from (today.sms, today.email);

-- migrate:down
