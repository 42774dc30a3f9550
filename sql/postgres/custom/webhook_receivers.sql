-- Of whatever brand: only the id says which one a delivery is for.
select lookup_id, brand_id, id, is_enabled, webhook_secret, former_secret, former_until
from provider
where lookup_id = any($1::text[])
