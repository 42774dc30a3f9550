select id, name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features, created_at
from brand
where id = $1::uuid or shop_domain = $2 or name = $3
