-- What servers' events say of profiles ($2: JSON), where it is newer than what they said before; returns what became of it.
-- The store's record alone says what it says: where there is one, names are added that it lacks.
with given as materialized (
    select $1::uuid as brand_id, given.*
    from json_to_recordset($2::text::json) as given (
        subject integer, email text, email_at float8, phone text, phone_at float8, first_name text, first_name_at float8,
        last_name text, last_name_at float8
    )
),

news as materialized (
    select
        brand_id,
        subject,
        case when not email_by_record and email_at >= coalesce((told_at ->> 'email')::float8, email_at)
            then nullif(given.email, customer.email) end as email,
        case when not phone_by_record and phone_at >= coalesce((told_at ->> 'phone')::float8, phone_at)
            then nullif(given.phone, customer.phone) end as phone,
        case when (not is_recorded or customer.first_name is null) and first_name_at >= coalesce((told_at ->> 'first_name')::float8, first_name_at)
            then nullif(given.first_name, customer.first_name) end as first_name,
        case when (not is_recorded or customer.last_name is null) and last_name_at >= coalesce((told_at ->> 'last_name')::float8, last_name_at)
            then nullif(given.last_name, customer.last_name) end as last_name
    from given
    join customer using (brand_id, subject)
    cross join lateral (select has_record or updated_at <> created_at as is_recorded) as record
    where provenance <> 'pixel' and not deleted
)

update customer
set
    email = coalesce(news.email, customer.email),
    phone = coalesce(news.phone, customer.phone),
    first_name = coalesce(news.first_name, customer.first_name),
    last_name = coalesce(news.last_name, customer.last_name),
    changed_at = now()
from news
where
    customer.brand_id = news.brand_id
    and customer.subject = news.subject
    and coalesce(news.email, news.phone, news.first_name, news.last_name) is not null
returning customer.subject, news.email, news.phone, news.first_name as "firstName", news.last_name as "lastName"
