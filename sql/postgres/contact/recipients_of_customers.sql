-- Contacts of customers by any of their ordinals ($2), those of profiles that were merged with them included; the oldest first.
select
    asked.subject as asked, contact.id, contact.subject, email, phone, whose.first_name, whose.last_name, sms_consent,
    email_consent
from unnest($2::integer[]) as asked (subject)
cross join lateral subjects_of_person($1, asked.subject) as theirs (subject)
join contact on contact.brand_id = $1 and contact.subject = theirs.subject
cross join lateral customer_of_contact($1, contact.subject, contact.first_name, contact.last_name) as whose
order by asked.subject, contact.created_at, contact.id
