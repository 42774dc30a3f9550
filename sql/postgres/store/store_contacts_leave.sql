-- Takes from the contacts of customers ($2: JSON) what newer records of theirs replace; returns it. Only then it is known
-- whether what replaces it can be had.
with given as (
    select subject, email, phone
    from json_to_recordset($2::text::json) as given (subject integer, email text, phone text)
),

held as materialized (
    select
        contact.id,
        case when contact.email <> given.email then contact.email end as email,
        case when contact.phone <> given.phone then contact.phone end as phone
    from given
    -- Each a lookup by the key: of a join all rows of the brand can be read, or as many as given for each.
    cross join lateral (
        select id, email, phone from contact
        where brand_id = (select $1::uuid) and contact.subject = given.subject
        offset 0
    ) as contact
    where contact.email <> given.email or contact.phone <> given.phone
),

taken as (
    update contact
    set email = nullif(contact.email, held.email), phone = nullif(contact.phone, held.phone), updated_at = now()
    from held
    where contact.brand_id = $1 and contact.id = any(array(select id from held)) and contact.id = held.id
)

select id, email, phone from held
