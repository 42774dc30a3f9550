-- The app was removed: the token is worth nothing any more, unless the store gave it later than that. The secret
-- stays, since the store still signs what it asks.
update store_connection
set status = 'disconnected', access_token = null, disconnected_at = $2::timestamptz
where brand_id = $1 and status <> 'disconnected' and token_at < $2::timestamptz
