-- what: the store's products as they are now
-- grain: product_id
-- refresh: at every read
-- from: products_source
select
    product.product_id,
    product.title,
    product.status,
    product.variants,
    product.images,
    product.updated_at
from products_source as product
