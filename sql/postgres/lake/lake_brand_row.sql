select
    brand.id, name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features,
    brand.created_at, definitions_version, refreshed_definitions_version, changed_tick, refreshed_tick, generation, as_of,
    results ->> 'recipe' as recipe, full_at, changed_customers,
    (results ->> 'erasures')::bigint = erasures as no_erasure_since
from brand
join lake_brand on brand_id = brand.id
where brand.id = $1
