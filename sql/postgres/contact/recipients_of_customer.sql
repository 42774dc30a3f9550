-- Contacts of a customer by any of its ordinals, those of profiles that were merged with it included; the oldest first.
select contact.id, email, phone, first_name, last_name, sms_consent, email_consent
from subjects_of_person($1, $2::integer) as theirs (subject)
join contact on contact.brand_id = $1 and contact.subject = theirs.subject
order by contact.created_at, contact.id
