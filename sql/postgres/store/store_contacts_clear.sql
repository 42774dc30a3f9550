-- Takes out of the contacts of customers what was taken out of their records ($2: JSON) and did not come back; returns
-- the channels that they had.
with said as (
    select subject, email, phone, first_name, last_name
    from json_to_recordset($2::text::json) as said (
        subject integer, email text, phone text, first_name text, last_name text
    )
),

gone as (
    select
        taken.subject, coalesce(redirect.customer, taken.subject) as customer,
        case when customer.email is distinct from taken.email then taken.email end as email,
        case when customer.phone is distinct from taken.phone then taken.phone end as phone,
        case when customer.first_name is distinct from taken.first_name then taken.first_name end as first_name,
        case when customer.last_name is distinct from taken.last_name then taken.last_name end as last_name
    from said as taken
    -- Told twice whose rows: of a join alone all rows of the brand can be read.
    join customer
        on customer.brand_id = $1 and customer.subject = any(array(select subject from said)) and customer.subject = taken.subject
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = taken.subject and not redirect.deleted
),

theirs as (
    select customer as subject, email, phone, first_name, last_name from gone
    union all
    select redirect.subject, email, phone, first_name, last_name
    from gone
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = gone.customer and not redirect.deleted
),

held as (
    select contact.id, contact.email as had_email, contact.phone as had_phone, theirs.*
    from theirs
    join contact
        on contact.brand_id = $1 and contact.subject = any(array(select subject from theirs)) and contact.subject = theirs.subject
    where
        contact.email = theirs.email
        or contact.phone = theirs.phone
        or contact.first_name = theirs.first_name
        or contact.last_name = theirs.last_name
),

taken as (
    update contact
    set
        email = nullif(contact.email, held.email),
        phone = nullif(contact.phone, held.phone),
        first_name = nullif(contact.first_name, held.first_name),
        last_name = nullif(contact.last_name, held.last_name),
        updated_at = now()
    from held
    where contact.brand_id = $1 and contact.id = held.id
)

select
    id,
    case when had_email = email then email end as email,
    case when had_phone = phone then phone end as phone
from held
