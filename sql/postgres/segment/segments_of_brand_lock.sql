-- Segments of a brand are made one after the other: their ordinals are dense. Before any segment its row of the lake, as a
-- refresh that publishes locks them.
select id
from brand
join lake_brand on brand_id = brand.id
where id = $1
for no key update
