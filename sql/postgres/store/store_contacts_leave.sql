-- Takes from the contacts of customers ($2: JSON) what newer records of theirs replace; returns it. Only then it is known
-- whether what replaces it can be had.
with given as (
    select subject, email, phone
    from json_to_recordset($2::text::json) as given (subject integer, email text, phone text)
),

held as (
    select
        contact.id,
        case when contact.email <> given.email then contact.email end as email,
        case when contact.phone <> given.phone then contact.phone end as phone
    from given
    -- Told twice whose rows: of a join alone all rows of the brand can be read.
    join contact
        on contact.brand_id = $1 and contact.subject = any(array(select subject from given)) and contact.subject = given.subject
    where contact.email <> given.email or contact.phone <> given.phone
),

taken as (
    update contact
    set email = nullif(contact.email, held.email), phone = nullif(contact.phone, held.phone), updated_at = now()
    from held
    where contact.brand_id = $1 and contact.id = held.id
)

select id, email, phone from held
