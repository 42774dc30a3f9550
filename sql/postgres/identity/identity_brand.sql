select shop_domain, default_phone_region
from brand
where id = $1
