insert into api_key (brand_id, id, key_prefix, key_hash, key_class, name, scopes, expires_at, is_staff)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
returning id, key_prefix, brand_id, scopes, created_at, last_used_at, expires_at, revoked_at
