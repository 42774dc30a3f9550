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

delete from contact_consent where source in ('address changed', 'number changed');

alter table contact_consent
    drop constraint contact_consent_pkey,
    add primary key (brand_id, contact_id, channel, address, at, state);

-- migrate:down
