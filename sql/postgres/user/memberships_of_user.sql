select membership.brand_id, brand.name, brand.shop_domain, membership.role
from membership
join brand on brand.id = membership.brand_id
where membership.user_id = $1
order by brand.name, brand.id
