-- $2: an id, $3: a prefix, either may be null.
update api_key
set revoked_at = now()
where
    brand_id = $1
    and revoked_at is null
    and ($2::uuid is null or id = $2)
    and ($3::text is null or key_prefix = $3)
returning id, key_prefix, brand_id, is_staff, expires_at, revoked_at, created_at
