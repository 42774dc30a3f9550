select
    web_session.id as standing_id,
    web_session.user_id,
    web_session.expires_at,
    null as client_id,
    app_user.email,
    app_user.is_staff,
    membership.role,
    brand.id,
    brand.name,
    brand.shop_domain,
    brand.storefront_domains,
    brand.currency_code,
    brand.timezone,
    brand.default_phone_region,
    brand.features,
    brand.created_at
from web_session
join app_user on app_user.id = web_session.user_id and app_user.disabled_at is null
join membership on membership.user_id = web_session.user_id and membership.brand_id = web_session.brand_id
join brand on brand.id = web_session.brand_id
where web_session.id = $1 and web_session.expires_at > now()
