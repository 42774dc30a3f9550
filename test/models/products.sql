-- case: the catalog as it is now
-- given products_source: product_id, title, status, variants, images
values ('p1', 'Mug', 'active', '[{"id":"v1","price":"5.00","sku":"M"}]', '[]')
-- expect products: product_id, title, status, variants, images
values ('p1', 'Mug', 'active', '[{"id":"v1","price":"5.00","sku":"M"}]', '[]')
