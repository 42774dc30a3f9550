-- Contacts, held so that what is known of them stays so until the message is written.
select id, email, phone, first_name, last_name, sms_consent, email_consent, timezone
from contact
where brand_id = $1 and id = any($2::uuid[])
order by id
for no key update
