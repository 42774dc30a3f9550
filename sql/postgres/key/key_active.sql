select exists (
    select from api_key
    where brand_id = $1 and key_class = $2 and revoked_at is null and coalesce(expires_at, 'infinity') > now()
) as active
