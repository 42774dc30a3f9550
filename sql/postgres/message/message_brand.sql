-- The brand with its rules for messages.
select
    brand.id, name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features,
    brand.created_at::text as created_at,
    coalesce(quiet_from, '21:00')::text as quiet_from,
    coalesce(quiet_until, '08:00')::text as quiet_until,
    coalesce(cap_messages, 4) as cap_messages,
    coalesce(cap_days, 7) as cap_days,
    coalesce(attribution_days, 7) as attribution_days,
    coalesce(sms_consent, 'not-refused') as sms_consent,
    coalesce(email_consent, 'not-refused') as email_consent,
    store_awaited_until(brand.id) as silent_until,
    jobs_resumed_at() as resumed_at
from brand
left join message_policy on brand_id = brand.id
where brand.id = $1
