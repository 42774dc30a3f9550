-- Identity of the brand stands still until the transaction ends.
select default_phone_region as region, shop_domain
from brand
where id = $1
for no key update
