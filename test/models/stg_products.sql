-- case: products are as they are now
-- given products_source: product_id, title, status, variants, updated_at
values ('p1', 'Lamp', 'active', '[{"id":"v1","price":"10.00"}]', '2030-01-01')
-- expect stg_products: product_id, title, status, variants, updated_at
values ('p1', 'Lamp', 'active', '[{"id":"v1","price":"10.00"}]', '2030-01-01')
