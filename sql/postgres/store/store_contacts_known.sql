-- Who can be reached already, and which channels only the store's record of them may say.
select
    subject, email_by_record, phone_by_record,
    exists (
        select from contact
        where contact.brand_id = $1
            and contact.subject = customer.subject
            and (contact.email is not null or contact.phone is not null)
    ) as has_channel
from customer
where brand_id = $1 and subject = any($2::integer[])
