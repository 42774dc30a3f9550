-- A yes is about the address that it was given for, a no about the person: the newest of these counts, and of two at the
-- same instant the one that forbids. `unknown` takes a yes back, never a no.
with word as (
    select
        state, at,
        address = case when $3 = 'sms' then phone else email end as is_of_now
    from contact_consent
    join contact on contact.brand_id = $1 and contact.id = $2
    where contact_consent.brand_id = $1 and contact_id = $2 and channel = $3
),

newest as (
    select
        max(at) filter (where state = 'unsubscribed') as refused,
        max(at) filter (where state = 'subscribed' and is_of_now) as agreed,
        max(at) filter (where state = 'unknown' and is_of_now) as taken_back
    from word
),

today as (
    select
        case
            when refused >= coalesce(agreed, refused) then 'unsubscribed'
            when agreed >= coalesce(taken_back, agreed) then 'subscribed'
            else 'unknown'
        end as state
    from newest
)

update contact
set
    sms_consent = case when $3 = 'sms' then today.state else sms_consent end,
    email_consent = case when $3 = 'email' then today.state else email_consent end,
    updated_at = now()
from today
where
    brand_id = $1
    and id = $2
    and (case when $3 = 'sms' then sms_consent else email_consent end) <> today.state
