-- case: each product of an order once, with its customer and time
-- given subject_redirect: subject, customer
values (2, 1)
-- given orders_source: order_id, subject, created_at, product_ids
values
    ('o1', 2, '2025-01-01', ['p1', 'p2']),
    ('empty', 2, '2025-01-01', []),
    ('none', 2, '2025-01-01', null)
-- expect stg_order_products
values
    ('o1', 1, '2025-01-01', 'p1'),
    ('o1', 1, '2025-01-01', 'p2')
