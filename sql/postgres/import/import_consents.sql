-- Words of a file ($3: its source) on consent ($2: JSON rows with the subject, 0 of whom was erased since). One without a
-- time, or ahead of our clock, is the oldest of all where it agrees, and else of now, once for each file. Of whom was erased
-- only a no is heard, for whoever has the address now or next. Lists the customers of whom anything is new.
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
        cross join lateral (
            select id, email, phone, created_at from contact
            where brand_id = (select $1::uuid) and contact.id = person.id
            offset 0
        ) as contact
        where given.subject <> 0
        order by
            case when given.channel = 'sms' then contact.phone else contact.email end is distinct from given.address,
            contact.email is null and contact.phone is null,
            contact.created_at,
            contact.id
        limit 1
    ) as own on true
    left join lateral (
        select id
        from (
            (select id from contact where brand_id = (select $1::uuid) and contact.email = given.address offset 0)
            union all
            (select id from contact where brand_id = (select $1::uuid) and contact.phone = given.address offset 0)
        ) as either
        where given.subject = 0 and given.state = 'unsubscribed'
    ) as holder on true
),

kept as (
    insert into kept_refusal (brand_id, hash, refused_at)
    select $1, hash, coalesce(max(at), now())
    from given
    cross join lateral (select tombstone_hash($1, 'refused_' || channel, address) as hash) as refused
    where subject = 0 and state = 'unsubscribed'
    group by hash
    having
        max(at) is not null
        or not exists (select from kept_refusal as known where known.brand_id = (select $1::uuid) and known.hash = refused.hash)
    on conflict (brand_id, hash) do update set refused_at = greatest(kept_refusal.refused_at, excluded.refused_at)
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
                from (
                    select words.contact_id as id
                    union
                    select person.id from contacts_of_person($1, words.subject) as person (id)
                ) as theirs
                cross join lateral (
                    select
                    from contact_consent as known
                    where
                        known.brand_id = (select $1::uuid)
                        and known.contact_id = theirs.id
                        and known.channel = words.channel
                        and known.address = words.address
                        and known.state = words.state
                        and known.source = $3
                    offset 0
                ) as same
            )
        )
    on conflict do nothing
    returning contact_id, channel, state, address
)

-- `is true` has it looked up in a table of hashes.
select distinct subject
from words
where ((contact_id, channel, state, address) in (select contact_id, channel, state, address from told)) is true
