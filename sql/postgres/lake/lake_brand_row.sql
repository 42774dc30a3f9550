-- Nothing is carried on of results that are not there any more: they have no recipe.
select
    brand.id, name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features,
    brand.created_at, definitions_version, refreshed_definitions_version, refreshed_tick, generation, as_of,
    (
        select results ->> 'recipe' from served_generation
        where served_generation.brand_id = brand.id and served_generation.generation = lake_brand.generation
    ) as recipe,
    full_at, changed_customers, models_tick, models_as_of, models_changed_customers, failures,
    erasures, (results ->> 'erasures')::bigint = erasures as no_erasure_since,
    (select coalesce(sum(rows), 0)::bigint from lake_file where lake_file.brand_id = brand.id and retired_at is null and relation in ('events', 'orders')) as own_rows
from brand
join lake_brand on brand_id = brand.id
where brand.id = $1
