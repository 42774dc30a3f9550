-- Contacts ($2) show what was said last.
update contact
set sms_consent = today.sms, email_consent = today.email, updated_at = now()
from (
    select id, consent_now($1, id, 'sms') as sms, consent_now($1, id, 'email') as email
    from unnest($2::uuid[]) as id
) as today
where
    contact.brand_id = $1
    and contact.id = today.id
    and (contact.sms_consent, contact.email_consent) is distinct from (today.sms, today.email)
