-- What rows of customers ($2: JSON, $3: their subjects) say of channels and names as the records do by now, and contacts
-- otherwise. After import_customers, which wrote the records of $4: a row that changed none says nothing.
with given as (
    select distinct on (sent.subject) sent.subject, sent.email, sent.phone, sent.first_name, sent.last_name, sent.updated_at
    from rows from (
        json_to_recordset($2::text::json) as (
            email text, phone text, first_name text, last_name text, updated_at timestamptz
        ),
        unnest($3::integer[])
    ) with ordinality as sent (email, phone, first_name, last_name, updated_at, subject, position)
    where sent.subject = any($4::integer[])
    order by sent.subject, sent.updated_at desc nulls last, sent.position desc
)

select given.subject, told.email, told.phone, told.first_name, told.last_name
from given
cross join lateral (
    select email, phone, first_name, last_name, updated_at, deleted from customer
    where brand_id = (select $1::uuid) and customer.subject = given.subject
    offset 0
) as customer
cross join lateral (
    select
        case when customer.email = given.email then given.email end as email,
        case when customer.phone = given.phone then given.phone end as phone,
        -- Both, so that a contact without names of its own does not lose one.
        case when coalesce(given.first_name, given.last_name) is not null then customer.first_name end as first_name,
        case when coalesce(given.first_name, given.last_name) is not null then customer.last_name end as last_name
) as told
-- Null of who has no contact.
cross join lateral (
    select
        bool_or(contact.email <> told.email or contact.phone <> told.phone) as any_says_other,
        bool_or(
            (contact.email, contact.phone, contact.first_name, contact.last_name) is not distinct from (
                coalesce(told.email, contact.email), coalesce(told.phone, contact.phone),
                coalesce(told.first_name, contact.first_name), coalesce(told.last_name, contact.last_name)
            )
        ) as any_says_so
    from (
        select email, phone, first_name, last_name from contact
        where brand_id = (select $1::uuid) and contact.subject = given.subject
        offset 0
    ) as contact
) as theirs
where
    not customer.deleted
    and (given.updated_at is null or given.updated_at >= customer.updated_at)
    and (any_says_other or not any_says_so)
order by given.subject
