-- Contacts of those who were made one with another, or taken apart ($2: subjects), show what was said by them. Those that
-- change are few: each is looked up by its key, whatever is known of the table: of a brand that is new in it, too, since
-- the planner does not see which it is.
with theirs as materialized (
    select distinct person.id
    from unnest($2::integer[]) as given (subject)
    cross join lateral contacts_of_person($1, given.subject) as person (id)
),

today as materialized (
    select theirs.id, now.sms, now.email
    from theirs
    cross join lateral (
        select consent_now($1, theirs.id, 'sms') as sms, consent_now($1, theirs.id, 'email') as email
        offset 0
    ) as now
    cross join lateral (
        select sms_consent, email_consent from contact
        where contact.brand_id = (select $1::uuid) and contact.id = theirs.id
        offset 0
    ) as shown
    where (shown.sms_consent, shown.email_consent) is distinct from (now.sms, now.email)
)

update contact
set sms_consent = today.sms, email_consent = today.email, updated_at = now()
from today
where contact.brand_id = (select $1::uuid) and contact.id = today.id
