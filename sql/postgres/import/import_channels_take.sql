-- As store_channel_take, for many: takes channels that customers ($2: JSON) are to have from contacts of nobody, or of
-- customers that the store removed; the customers' contacts get what was said about them. What is left of a contact of nobody
-- without any is the customer's, too.
with given as materialized (
    select subject, email, phone from json_to_recordset($2::text::json) as (subject integer, email text, phone text)
),

-- Of several customers who are to have one, the one whom import_contacts_follow gives it.
wanted as (
    select distinct on (address) subject, address
    from (
        select subject, email as address from given where email is not null
        union all
        select subject, phone from given where phone is not null
    ) as each_of_them
    order by address, subject
),

held as materialized (
    select wanted.subject, wanted.address, holder.id
    from wanted
    cross join lateral (
        (select id, subject from contact where brand_id = (select $1::uuid) and contact.email = wanted.address offset 0)
        union all
        (select id, subject from contact where brand_id = (select $1::uuid) and contact.phone = wanted.address offset 0)
    ) as holder
    left join lateral (
        select deleted from customer
        where brand_id = (select $1::uuid) and customer.subject = holder.subject
        offset 0
    ) as customer on true
    where holder.subject is null or customer.deleted
),

words as (
    insert into contact_consent (brand_id, contact_id, channel, state, source, at, address)
    select $1, theirs.id, word.channel, word.state, word.source, word.at, word.address
    from held
    cross join lateral (
        select channel, state, source, at, address from contact_consent
        where brand_id = (select $1::uuid) and contact_id = held.id and contact_consent.address = held.address
        offset 0
    ) as word
    cross join lateral (
        select id from contact
        where brand_id = (select $1::uuid) and contact.subject = held.subject
        offset 0
    ) as theirs
    on conflict do nothing
),

taken as materialized (
    select id, array_agg(address) as addresses, min(subject) as subject
    from held
    group by id
)

update contact
set
    subject = case
        when coalesce(contact.email = any(addresses), true) and coalesce(contact.phone = any(addresses), true)
            then coalesce(contact.subject, taken.subject)
        else contact.subject
    end,
    email = case when contact.email = any(addresses) then null else contact.email end,
    phone = case when contact.phone = any(addresses) then null else contact.phone end,
    updated_at = now()
from taken
where contact.brand_id = $1 and contact.id = any(array(select id from taken)) and contact.id = taken.id
