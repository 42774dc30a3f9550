-- What the contacts that erase_contacts takes refused, at the addresses that they have and had.
with erased as materialized (
    select contact.brand_id, contact.id, phone, email, sms_consent, email_consent
    from erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5) as given (id)
    join contact on contact.brand_id = $1 and contact.id = given.id
),

words as materialized (
    select
        contact_id,
        channel,
        address,
        max(at) filter (where state = 'unsubscribed') as refused_at,
        max(at) filter (where state = 'subscribed') as agreed_at
    from erased
    join contact_consent as word on word.brand_id = erased.brand_id and word.contact_id = erased.id
    group by contact_id, channel, address
),

refused as (
    select channel, address, refused_at
    from words
    where address <> '' and refused_at >= coalesce(agreed_at, '-infinity')
    union all
    -- A no is about the person, also at an address that it was not said of.
    select own.channel, own.address, coalesce(said.refused_at, $5)
    from erased
    cross join lateral (
        values ('sms', phone, sms_consent), ('email', email, email_consent)
    ) as own (channel, address, shown)
    left join lateral (
        select max(words.refused_at) as refused_at
        from words
        where words.contact_id = erased.id and words.channel = own.channel
    ) as said on true
    where own.shown = 'unsubscribed' and own.address is not null
)

insert into kept_refusal (brand_id, hash, refused_at)
select $1, tombstone_hash($1, 'refused_' || channel, address), max(refused_at)
from refused
group by channel, address
on conflict (brand_id, hash) do update set refused_at = greatest(kept_refusal.refused_at, excluded.refused_at)
