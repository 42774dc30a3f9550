-- A yes is about the address that it was given for, a no about the person, and about the address whosever it becomes: the
-- newest of these counts, and of two at the same instant the one that forbids. `unknown` takes a yes back, never a no;
-- without a time (`store record`) only one that the store gave.
with contact_now as (
    select case when $3 = 'sms' then phone else email end as address
    from contact
    where brand_id = $1 and id = $2
),

newest as (
    select
        max(at) filter (where state = 'unsubscribed') as refused,
        max(at) filter (where state = 'subscribed' and contact_consent.address = contact_now.address) as agreed,
        max(at) filter (
            where state = 'subscribed' and contact_consent.address = contact_now.address and source not in ('store', 'store record')
        ) as agreed_elsewhere,
        max(at) filter (where state = 'unknown' and contact_consent.address = contact_now.address) as taken_back,
        max(at) filter (
            where state = 'unknown' and contact_consent.address = contact_now.address and source <> 'store record'
        ) as taken_back_dated
    from contact_consent
    cross join contact_now
    where brand_id = $1 and contact_id = $2 and channel = $3
),

today as (
    select
        case
            when greatest(refused, refused_by_others($1, $2, $3, contact_now.address)) >= coalesce(agreed, '-infinity')
                then 'unsubscribed'
            when agreed >= coalesce(taken_back, agreed) then 'subscribed'
            when agreed_elsewhere >= coalesce(taken_back_dated, agreed_elsewhere) then 'subscribed'
            else 'unknown'
        end as state
    from newest
    cross join contact_now
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
