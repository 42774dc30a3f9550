insert into store_cart (brand_id, external_id, subject)
select $1, external_id, subject
from unnest($2::text[], $3::integer[]) as given (external_id, subject)
on conflict (brand_id, external_id) do nothing
