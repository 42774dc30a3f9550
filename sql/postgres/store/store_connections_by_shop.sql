select
    store_connection.brand_id, store_connection.id, platform, store_connection.shop_domain, api_origin, access_token,
    webhook_secret, scopes, status, error, connected_at, token_at, abandoned_after_minutes,
    subscribes,
    coalesce(store_connection.currency_code, brand.currency_code) as currency_code, default_phone_region as region
from store_connection
join brand on brand.id = store_connection.brand_id
where (platform, store_connection.shop_domain) in (select * from unnest($1::text[], $2::text[]))
