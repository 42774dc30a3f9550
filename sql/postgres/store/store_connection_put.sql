-- Connecting again renews what the store gave us; history ends where it was connected first, unless it was disconnected. Of
-- another shop nothing has been read yet.
with moved as (
    delete from store_sync
    where
        brand_id = $1
        and exists (select from store_connection as before where before.brand_id = $1 and before.shop_domain <> $4)
)

insert into store_connection as stored (
    brand_id, id, platform, shop_domain, api_origin, access_token, webhook_secret, scopes, connected_at,
    token_at, abandoned_after_minutes, currency_code, subscribes
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, coalesce($10::integer, 60), $11, $12)
on conflict (brand_id) do update set
    platform = excluded.platform,
    shop_domain = excluded.shop_domain,
    api_origin = excluded.api_origin,
    access_token = excluded.access_token,
    webhook_secret = excluded.webhook_secret,
    scopes = excluded.scopes,
    status = 'connected',
    error = null,
    connected_at = case
        when stored.status = 'disconnected' or stored.shop_domain <> excluded.shop_domain then excluded.connected_at
        else stored.connected_at
    end,
    token_at = excluded.token_at,
    disconnected_at = null,
    abandoned_after_minutes = coalesce($10::integer, stored.abandoned_after_minutes),
    currency_code = case
        when stored.shop_domain <> excluded.shop_domain then excluded.currency_code
        else coalesce(excluded.currency_code, stored.currency_code)
    end,
    subscribes = excluded.subscribes,
    refused_topics = excluded.refused_topics
returning id, connected_at, abandoned_after_minutes
