-- $3: a key class, or null for any.
update api_key
set revoked_at = now()
where brand_id = $1 and id = $2 and revoked_at is null and ($3::text is null or key_class = $3)
returning
    id, key_prefix, brand_id, scopes, created_at, last_used_at, expires_at, revoked_at, key_class, name, is_staff
