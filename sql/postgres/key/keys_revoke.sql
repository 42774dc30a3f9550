-- $2: an id as it was sent, $3: a prefix, either may be null.
update api_key
set revoked_at = now()
where
    brand_id = $1
    and revoked_at is null
    and (
        $2::text is null
        or id = case when $2 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $2::uuid end
    )
    and ($3::text is null or key_prefix = $3)
returning id, key_prefix, brand_id, is_staff, expires_at, revoked_at, created_at
