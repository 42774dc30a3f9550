-- Across brands: the key says which brand it is. Its brand comes along, so that a call costs one look-up.
select
    asked.hash,
    api_key.id as key_id,
    api_key.key_class,
    api_key.scopes,
    api_key.expires_at,
    api_key.revoked_at,
    api_key.last_used_at,
    brand_shown.*
from unnest($1::text[]) as asked (hash)
join api_key on api_key.key_hash = decode(asked.hash, 'hex')
join brand_shown on brand_shown.id = api_key.brand_id
