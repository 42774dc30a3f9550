select id, name, shop_domain, storefront_domains, currency_code, timezone, default_phone_region, features, created_at
from brand
order by created_at
