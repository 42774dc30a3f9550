-- Notes when it was said what servers' events say of profiles ($2: JSON), after profiles_tell. The lake is not told of it.
with given as materialized (
    select
        $1::uuid as brand_id,
        subject,
        jsonb_strip_nulls(jsonb_build_object(
            'email', email_at, 'phone', phone_at, 'first_name', first_name_at, 'last_name', last_name_at
        )) as said_at
    from json_to_recordset($2::text::json) as given (
        subject integer, email_at float8, phone_at float8, first_name_at float8, last_name_at float8
    )
),

latest as materialized (
    select brand_id, subject, jsonb_object_agg(field, at) as told_at
    from (
        select brand_id, subject, field, max(at::float8) as at
        from given
        join customer using (brand_id, subject)
        cross join lateral (
            select key as field, value as at from jsonb_each_text(said_at)
            union all
            select key, value from jsonb_each_text(told_at)
        ) as said
        group by brand_id, subject, field
    ) as by_field
    group by brand_id, subject
)

update customer
set told_at = latest.told_at
from latest
where
    customer.brand_id = latest.brand_id
    and customer.subject = latest.subject
    and customer.told_at <> latest.told_at
