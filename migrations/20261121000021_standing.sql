-- migrate:up

-- A brand as callers see it, read with the rights of whoever asks.
create view brand_shown with (security_invoker = true) as
select
    id,
    name,
    shop_domain,
    storefront_domains,
    currency_code,
    timezone,
    default_phone_region,
    features,
    created_at
from brand;

-- Users in good standing for a brand: members whose account is not disabled; with the brand.
create view good_standing with (security_invoker = true) as
select
    membership.user_id,
    membership.role,
    app_user.email,
    app_user.is_staff,
    brand_shown.*
from membership
join app_user on app_user.id = membership.user_id and app_user.disabled_at is null
join brand_shown on brand_shown.id = membership.brand_id;

-- migrate:down
