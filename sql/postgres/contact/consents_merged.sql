-- Contacts of those who were made one with another ($2: subjects) show what either of them said.
with today as (
    select id, consent_now($1, id, 'sms') as sms, consent_now($1, id, 'email') as email
    from (
        select distinct person.id
        from unnest($2::integer[]) as given (subject)
        cross join lateral contacts_of_person($1, given.subject) as person (id)
    ) as theirs
)

update contact
set sms_consent = today.sms, email_consent = today.email, updated_at = now()
from today
where
    contact.brand_id = $1
    and contact.id = today.id
    and (contact.sms_consent, contact.email_consent) is distinct from (today.sms, today.email)
