select
    full_at < now() - interval '30 hours'
    or full_at < now() - interval '18 hours'
        and extract(hour from now() at time zone timezone) between 1 and 4 as due
from lake_brand
join brand on brand.id = brand_id
where brand_id = $1
