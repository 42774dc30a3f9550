-- Whom an identifier names: $2 is a kind of identifier, or contact_id. The ordinal is as it was before merges, the contact
-- the one that has the identifier; either can be missing.
with contacts as (
    select id, subject, email, phone from contact where brand_id = $1 and $2 = 'email' and email = $3
    union all
    select id, subject, email, phone from contact where brand_id = $1 and $2 = 'phone' and phone = $3
    union all
    select id, subject, email, phone from contact where brand_id = $1 and id = case when $2 = 'contact_id' then $3::uuid end
),

subjects as (
    select subject, 0 as turn from identifier where brand_id = $1 and kind = $2 and value = $3
    union all
    select subject, 1 from contacts where subject is not null
    union all
    select identifier.subject, 2
    from contacts
    join identifier on identifier.brand_id = $1 and identifier.kind = 'email' and identifier.value = contacts.email
    union all
    select identifier.subject, 3
    from contacts
    join identifier on identifier.brand_id = $1 and identifier.kind = 'phone' and identifier.value = contacts.phone
)

select
    (select subject from subjects order by turn limit 1) as subject,
    (select id from contacts limit 1) as contact_id
