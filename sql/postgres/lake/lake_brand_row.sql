select
    brand.id, name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features,
    brand.created_at, definitions_version, refreshed_definitions_version, changed_tick, refreshed_tick, generation, as_of, served_path,
    results ->> 'recipe' as recipe
from brand
join lake_brand on brand_id = brand.id
where brand.id = $1
