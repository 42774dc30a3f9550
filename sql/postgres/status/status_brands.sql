select
    lake_brand.brand_id,
    shop_domain,
    generation,
    as_of,
    refreshed_at,
    refresh_ms,
    (
        select count(*) from segment where segment.brand_id = lake_brand.brand_id and status = 'active'
    ) as segments,
    (
        select count(*) from lake_file where lake_file.brand_id = lake_brand.brand_id and retired_at is null
    ) as files,
    failures,
    error,
    difference,
    (
        select count(*) from identifier where identifier.brand_id = lake_brand.brand_id and shared
    ) as shared_identifiers
from lake_brand
join brand on brand.id = brand_id
order by shop_domain
