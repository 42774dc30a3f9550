-- $2: a key class, or null for all.
select id, key_prefix, brand_id, scopes, created_at, last_used_at, expires_at, revoked_at, name
from api_key
where brand_id = $1 and ($2::text is null or key_class = $2)
order by created_at desc, id desc
