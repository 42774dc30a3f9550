-- Contacts of a customer by any of its ordinals, those of profiles that were merged with it included; the oldest first.
with survivor as (
    select coalesce(
        (select customer from subject_redirect where brand_id = $1 and subject = $2::integer and not deleted), $2::integer
    ) as customer
),

theirs as (
    select customer as subject from survivor
    union all
    select redirect.subject
    from survivor
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = survivor.customer and not redirect.deleted
)

select contact.id, email, phone, first_name, last_name, sms_consent, email_consent, timezone
from theirs
join contact on contact.brand_id = $1 and contact.subject = theirs.subject
order by contact.created_at, contact.id
