-- what: the store's products as they are now
-- grain: product_id
-- refresh: with the segments
-- from: stg_products
-- of: sales
select
    product_id,
    title,
    status,
    variants,
    images,
    updated_at
from stg_products
