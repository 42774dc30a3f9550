-- As recipients_of_customer, of several at once. $2: ordinals.
with asked as (
    select given.subject as asked, coalesce(redirect.customer, given.subject) as customer
    from unnest($2::integer[]) as given (subject)
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = given.subject and not redirect.deleted
),

theirs as (
    select asked, customer as subject from asked
    union
    select asked, redirect.subject
    from asked
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = asked.customer and not redirect.deleted
)

select asked, contact.id, email, phone, first_name, last_name, sms_consent, email_consent, timezone
from theirs
join contact on contact.brand_id = $1 and contact.subject = theirs.subject
order by asked, contact.created_at, contact.id
