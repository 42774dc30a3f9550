-- Contacts of customers ($2: JSON) get the channels and names that are theirs now; a channel that another contact has stays
-- with it. Of several contacts of a customer the one that has a channel.
with given as materialized (
    select subject, email, phone, first_name, last_name
    from json_to_recordset($2::text::json) as (subject integer, email text, phone text, first_name text, last_name text)
),

named as materialized (
    select theirs.id, theirs.email as had_email, theirs.phone as had_phone, given.*
    from given
    cross join lateral (
        select contact.id, contact.email, contact.phone
        from (
            select id, email, phone, created_at from contact
            where brand_id = (select $1::uuid) and contact.subject = given.subject
            offset 0
        ) as contact
        order by
            contact.email is distinct from given.email,
            contact.phone is distinct from given.phone,
            contact.email is null and contact.phone is null,
            contact.created_at,
            contact.id
        limit 1
    ) as theirs
),

emails as (
    select distinct on (email) id, email
    from named
    where
        email is distinct from had_email
        and not exists (
            select from contact where contact.brand_id = (select $1::uuid) and contact.email = named.email offset 0
        )
    order by email, subject
),

phones as (
    select distinct on (phone) id, phone
    from named
    where
        phone is distinct from had_phone
        and not exists (
            select from contact where contact.brand_id = (select $1::uuid) and contact.phone = named.phone offset 0
        )
    order by phone, subject
)

update contact
set
    email = coalesce(emails.email, contact.email),
    phone = coalesce(phones.phone, contact.phone),
    first_name = coalesce(named.first_name, contact.first_name),
    last_name = coalesce(named.last_name, contact.last_name),
    updated_at = now()
from named
left join emails using (id)
left join phones using (id)
where contact.brand_id = $1 and contact.id = any(array(select id from named)) and contact.id = named.id
