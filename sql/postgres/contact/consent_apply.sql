-- The newest word counts, and of two at the same instant the one that forbids.
with newest as (
    select state
    from contact_consent
    where brand_id = $1 and contact_id = $2 and channel = $3
    order by at desc, array_position(array['unsubscribed', 'subscribed', 'unknown'], state)
    limit 1
)

update contact
set
    sms_consent = case when $3 = 'sms' then newest.state else sms_consent end,
    email_consent = case when $3 = 'email' then newest.state else email_consent end,
    updated_at = now()
from newest
where
    brand_id = $1
    and id = $2
    and (case when $3 = 'sms' then sms_consent else email_consent end) <> newest.state
