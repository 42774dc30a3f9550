-- What the service knows of checkouts and the store does not say.
select external_id, abandoned_at
from checkout
where brand_id = $1 and external_id = any($2::text[])
