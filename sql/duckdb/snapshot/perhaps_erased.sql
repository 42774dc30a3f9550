-- Whom lines from before the newest erasure of their brand name. Repeats as well: they are in the log, too.
select
    identity,
    any_value(brand_id) as brand_id,
    any_value(store_customer_id) as store_customer_id,
    any_value(profile_id) as profile_id,
    any_value(email) as email,
    any_value(phone) as phone,
    any_value(anonymous_id) as anonymous_id,
    any_value(by_browser) as by_browser,
    min(occurred_at) as seen_at
from living
join newest_erasure using (brand_id)
where occurred_at <= erased_at
group by identity
