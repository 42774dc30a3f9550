-- Contacts of those who were made one with another ($2: subjects) show what either of them said.
with merged as (
    select distinct redirect.customer
    from unnest($2::integer[]) as given (subject)
    join contact on contact.brand_id = $1 and contact.subject = given.subject
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = given.subject and not redirect.deleted
),

today as (
    select person.id, consent_now($1, person.id, 'sms') as sms, consent_now($1, person.id, 'email') as email
    from merged
    cross join lateral contacts_of_person($1, merged.customer) as person (id)
)

update contact
set sms_consent = today.sms, email_consent = today.email, updated_at = now()
from today
where
    contact.brand_id = $1
    and contact.id = today.id
    and (contact.sms_consent, contact.email_consent) is distinct from (today.sms, today.email)
