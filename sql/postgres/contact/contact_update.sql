-- What is not given stays. Not where it has other channels by now than when it was read ($8, $9): what was given for those
-- would bring back one that was replaced.
update contact
set
    subject = coalesce(subject, $3),
    email = coalesce($4, email),
    phone = coalesce($5, phone),
    first_name = coalesce($6, first_name),
    last_name = coalesce($7, last_name),
    updated_at = now()
where brand_id = $1 and id = $2 and email is not distinct from $8 and phone is not distinct from $9
