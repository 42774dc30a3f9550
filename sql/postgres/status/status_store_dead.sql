-- Of those whose body is kept: they can be tried again.
select shop_domain, count(*) as dead
from store_delivery
join brand on brand.id = brand_id
where outcome = 'dead' and payload is not null
group by shop_domain
order by dead desc, shop_domain
