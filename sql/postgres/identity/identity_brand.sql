select
    shop_domain,
    default_phone_region,
    (select max(erased_at) from tombstone where tombstone.brand_id = brand.id) as newest_erasure
from brand
where id = $1
