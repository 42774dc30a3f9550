-- What records of customers ($2: JSON) say is no more, before the newest of them are written; returns it. `names_`: any
-- version of the record here names one; the record alone says it then. `lacks_` and `updated_at`: of the newest version,
-- null when that was here before: it named none, or the record would say it already.
with given as (
    select
        subject,
        bool_or(names_email) as names_email,
        bool_or(names_phone) as names_phone,
        bool_or(lacks_email) as lacks_email,
        bool_or(lacks_phone) as lacks_phone,
        bool_or(lacks_first_name) as lacks_first_name,
        bool_or(lacks_last_name) as lacks_last_name,
        max(updated_at) as updated_at
    from json_to_recordset($2::text::json) as given (
        subject integer, names_email boolean, names_phone boolean, lacks_email boolean, lacks_phone boolean,
        lacks_first_name boolean, lacks_last_name boolean, updated_at timestamptz
    )
    where subject <> 0
    group by subject
),

held as (
    select
        given.*, email, phone, first_name, last_name, email_by_record, phone_by_record,
        -- As import_customers takes it.
        case
            when given.updated_at is not null
                then given.updated_at >= customer.updated_at
                or customer.updated_at > now()
                or not (customer.has_record or customer.updated_at <> customer.created_at)
        end as is_newer
    from given
    -- Told twice whose rows: of a join alone all rows of the brand can be read.
    join customer
        on customer.brand_id = $1 and customer.subject = any(array(select subject from given)) and customer.subject = given.subject
),

taken as (
    select
        subject,
        email_by_record or names_email as email_by_record,
        phone_by_record or names_phone as phone_by_record,
        case
            when lacks_email and is_newer and (email_by_record or names_email) then email
            when is_newer is null and names_email and not email_by_record then email
        end as email,
        case
            when lacks_phone and is_newer and (phone_by_record or names_phone) then phone
            when is_newer is null and names_phone and not phone_by_record then phone
        end as phone,
        case when lacks_first_name and is_newer then first_name end as first_name,
        case when lacks_last_name and is_newer then last_name end as last_name
    from held
)

update customer
set
    email = nullif(customer.email, taken.email),
    phone = nullif(customer.phone, taken.phone),
    first_name = nullif(customer.first_name, taken.first_name),
    last_name = nullif(customer.last_name, taken.last_name),
    email_by_record = taken.email_by_record,
    phone_by_record = taken.phone_by_record
from taken
where
    customer.brand_id = $1
    and customer.subject = any(array(select subject from given))
    and customer.subject = taken.subject
    and (
        coalesce(taken.email, taken.phone, taken.first_name, taken.last_name) is not null
        or (customer.email_by_record, customer.phone_by_record) <> (taken.email_by_record, taken.phone_by_record)
    )
returning taken.subject, taken.email, taken.phone, taken.first_name, taken.last_name
