-- To the customer ($3) whose channel it has. A customer has one contact with a channel that is linked to
-- them; others are found by their channels.
update contact
set subject = $3, updated_at = now()
where
    brand_id = $1
    and id = $2
    and subject is null
    and not exists (
        select from contact as other
        where other.brand_id = $1 and other.subject = $3 and (other.email is not null or other.phone is not null)
    )
