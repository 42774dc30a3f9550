-- case: the lines of an order keep their order and carry its customer and time
-- given subject_redirect: subject, customer
values (2, 1)
-- given orders_source: order_id, subject, created_at, lines
values ('o1', 2, '2025-01-01', [
    {'id': 'l9', 'product_id': 'p1', 'variant_id': 'v1', 'title': 'Lamp', 'sku': 'L-1', 'quantity': 2, 'price': 10.00, 'total': 20.00},
    {'id': 'l1', 'product_id': 'p2', 'variant_id': null, 'title': 'Bulb', 'sku': null, 'quantity': 1, 'price': 3.50, 'total': 3.00}
])
-- expect stg_order_lines
values
    ('o1', 1, 1, '2025-01-01', 'l9', 'p1', 'v1', 'Lamp', 'L-1', 2, 10.00, 20.00),
    ('o1', 2, 1, '2025-01-01', 'l1', 'p2', null, 'Bulb', null, 1, 3.50, 3.00)

-- case: test orders, later orders and orders without lines have none
-- params as_of='2025-06-01'
-- given orders_source: order_id, test, created_at, lines
values
    ('test', true, '2025-01-01', [{'id': 'l1'}]),
    ('later', false, '2025-06-02', [{'id': 'l2'}]),
    ('empty', false, '2025-01-01', []),
    ('none', false, '2025-01-01', null),
    ('kept', false, '2025-01-01', [{'id': 'l3'}])
-- expect stg_order_lines: order_id, line_id
values ('kept', 'l3')
