-- Words of a file ($3: its source) on consent ($2: JSON rows with the subject, 0 of whom was erased since). One without a
-- time, or ahead of our clock, is the oldest of all where it agrees, and else of now, once for each file. Of whom was erased
-- only a no is heard, for the contact that has the address now. Lists the customers of whom anything is new.
with given as materialized (
    select subject, channel, state, address, case when at <= now() then at end as at
    from json_to_recordset($2::text::json) as (subject integer, channel text, state text, address text, at timestamptz)
),

words as materialized (
    select given.*, coalesce(own.id, holder.id) as contact_id
    from given
    left join lateral (
        select contact.id
        from contacts_of_person($1, given.subject) as person (id)
        join contact on contact.brand_id = $1 and contact.id = person.id
        where given.subject <> 0
        order by
            case when given.channel = 'sms' then contact.phone else contact.email end is distinct from given.address,
            contact.email is null and contact.phone is null,
            contact.created_at,
            contact.id
        limit 1
    ) as own on true
    left join lateral (
        select contact.id from contact
        where contact.brand_id = $1
            and (contact.email = given.address or contact.phone = given.address)
            and given.subject = 0
            and given.state = 'unsubscribed'
        offset 0
    ) as holder on true
),

told as (
    insert into contact_consent (brand_id, contact_id, channel, state, source, at, address)
    select
        $1, contact_id, channel, state, $3::text,
        coalesce(at, case when state = 'subscribed' then timestamptz 'epoch' else now() end), address
    from words
    where
        contact_id is not null
        and not (
            at is null
            and state <> 'subscribed'
            and exists (
                select
                from contact_consent as known
                where
                    known.brand_id = $1
                    and known.contact_id = words.contact_id
                    and known.channel = words.channel
                    and known.address = words.address
                    and known.state = words.state
                    and known.source = $3
            )
        )
    on conflict do nothing
    returning contact_id, channel, state, address
)

select distinct words.subject
from words
join told using (contact_id, channel, state, address)
