select
    sign_in_grant.id as standing_id,
    sign_in_grant.user_id,
    sign_in_grant.expires_at,
    sign_in_grant.client_id,
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
from sign_in_grant
join app_user on app_user.id = sign_in_grant.user_id and app_user.disabled_at is null
join membership on membership.user_id = sign_in_grant.user_id and membership.brand_id = sign_in_grant.brand_id
join brand on brand.id = sign_in_grant.brand_id
where sign_in_grant.id = $1 and sign_in_grant.expires_at > now()
