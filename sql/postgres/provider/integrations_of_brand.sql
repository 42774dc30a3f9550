-- The store first. A brand is made with its shop: until the shop's app is connected, the brand's own row stands for it.
select
    coalesce(store_connection.id, brand.id) as id,
    brand.shop_domain as integration_id,
    coalesce(platform, 'shopify') as provider,
    coalesce(status, 'connected') as status,
    coalesce(connected_at, brand.created_at) as connected_at
from brand
left join store_connection on store_connection.brand_id = brand.id
where brand.id = $1
union all
(
    select id, lookup_id, key, case when is_enabled then 'connected' else 'disabled' end, created_at
    from provider
    where brand_id = $1
    order by created_at, id
)
