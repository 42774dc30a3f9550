-- Across brands: the key says which brand it is. Its brand comes along, so that a call costs one look-up.
select
    api_key.id as key_id,
    api_key.key_class,
    api_key.scopes,
    api_key.expires_at,
    api_key.revoked_at,
    api_key.last_used_at,
    brand.id,
    brand.name,
    brand.shop_domain,
    brand.storefront_domains,
    brand.currency_code,
    brand.timezone,
    brand.default_phone_region,
    brand.features,
    brand.created_at
from api_key
join brand on brand.id = api_key.brand_id
where api_key.key_hash = $1
