-- migrate:up

-- A word on consent is about an address; empty where it named none.
alter table contact_consent add column address text not null default '';

update contact_consent as word
set address = coalesce(case when word.channel = 'sms' then contact.phone else contact.email end, '')
from contact
where contact.brand_id = word.brand_id
    and contact.id = word.contact_id
    and not exists (
        select from contact_consent as change
        where change.brand_id = word.brand_id
            and change.contact_id = word.contact_id
            and change.channel = word.channel
            and change.source in ('address changed', 'number changed')
            and change.recorded_at >= word.recorded_at
    );

-- A no stays with the person: who refused before the address changed refuses still.
update contact
set
    sms_consent = case
        when sms_consent = 'unknown' and 'sms' = any (changed.channels) and 'sms' = any (changed.refused) then 'unsubscribed'
        else sms_consent
    end,
    email_consent = case
        when email_consent = 'unknown' and 'email' = any (changed.channels) and 'email' = any (changed.refused)
            then 'unsubscribed'
        else email_consent
    end
from (
    select
        brand_id, contact_id,
        array_agg(channel) filter (where source in ('address changed', 'number changed')) as channels,
        array_agg(channel) filter (where state = 'unsubscribed') as refused
    from contact_consent
    group by brand_id, contact_id
) as changed
where contact.brand_id = changed.brand_id and contact.id = changed.contact_id and changed.channels is not null;

delete from contact_consent where source in ('address changed', 'number changed');

alter table contact_consent
    drop constraint contact_consent_pkey,
    add primary key (brand_id, contact_id, channel, address, at, state);
create index contact_consent_address on contact_consent (brand_id, address) where address <> '';

-- When others last refused messages at an address, unless one of them agreed since; null: nobody did.
create function refused_by_others(brand uuid, contact_id uuid, channel text, address text) returns timestamptz
language sql stable
return (
    select
        case
            when max(at) filter (where state = 'unsubscribed') >= coalesce(max(at) filter (where state = 'subscribed'), '-infinity')
                then max(at) filter (where state = 'unsubscribed')
        end
    from contact_consent as word
    where
        word.brand_id = $1
        and word.address = $4
        and word.address <> ''
        and word.channel = $3
        and word.contact_id <> $2
);

-- An address that somebody refused messages at is not messaged because it is now another contact's, whoever makes that.
create function refuse_as_others() returns trigger
language plpgsql
as $$
begin
    if new.phone is not null and refused_by_others(new.brand_id, new.id, 'sms', new.phone) is not null then
        new.sms_consent := 'unsubscribed';
    end if;
    if new.email is not null and refused_by_others(new.brand_id, new.id, 'email', new.email) is not null then
        new.email_consent := 'unsubscribed';
    end if;
    return new;
end
$$;
create trigger refuse_as_others before insert on contact for each row execute function refuse_as_others();

-- migrate:down
