-- What is not given stays.
update contact
set
    subject = coalesce(subject, $3),
    email = coalesce($4, email),
    phone = coalesce($5, phone),
    first_name = coalesce($6, first_name),
    last_name = coalesce($7, last_name),
    updated_at = now()
where
    brand_id = $1
    and id = $2
    and (
        (subject is null and $3::integer is not null)
        or email is distinct from coalesce($4, email)
        or phone is distinct from coalesce($5, phone)
        or first_name is distinct from coalesce($6, first_name)
        or last_name is distinct from coalesce($7, last_name)
    )
