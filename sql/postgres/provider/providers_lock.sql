-- Providers of a brand are made one after the other, so that their number has a limit.
select (select count(*) from provider where brand_id = $1) as count
from brand
where id = $1
for no key update of brand
