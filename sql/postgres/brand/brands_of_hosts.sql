-- Across brands: the host of a page says which shop it belongs to. The store platform's own name counts first.
select host, brand.id, brand.shop_domain
from unnest($1::text[]) as asked (host)
join brand on brand.shop_domain = host or brand.storefront_domains @> array[host]
order by (brand.shop_domain = host) desc, brand.id
