-- case: customers who bought a product in two orders bought it again; orders of nobody count as sales
-- given customer_products: customer, product_id, title, titled_at, quantity, order_count, customer_count, revenue
values
    (1, 'p1', 'Mug', '2025-02-01', 4, 2, 1, 21.00),
    (2, 'p1', 'Old mug', '2025-01-01', 1, 1, 1, 5.00),
    (3, 'p1', 'Mug', '2025-01-01', 1, 1, 1, 5.00),
    (1, 'p2', 'Tea', '2025-01-01', 1, 1, 1, 3.00)
-- given orders: id, customer, customer_id, counts, created_at, lines
values
    ('o1', null, null, true, '2025-01-02', [{'product_id': 'p1', 'title': 'Mug', 'quantity': 3, 'price': 5.00, 'total': 15.00}]),
    ('o2', null, null, true, '2025-01-02', [{'product_id': 'p3', 'title': 'Cup', 'quantity': 1, 'price': 2.00, 'total': 2.00}]),
    ('o3', null, null, false, '2025-01-02', [{'product_id': 'p3', 'title': 'Cup', 'quantity': 1, 'price': 2.00, 'total': 2.00}])
-- given stg_products: product_id, title
values ('p2', 'Green tea')
-- expect product_performance: product_id, title, quantity, order_count, customer_count, revenue, repeat_purchase_rate
values
    ('p1', 'Mug', 9, 5, 3, 46.00, 0.3333),
    ('p2', 'Green tea', 1, 1, 1, 3.00, 0.0),
    ('p3', 'Cup', 1, 1, 0, 2.00, 0.0)

-- case: a product is called what the last order that names it does
-- given orders: id, customer, customer_id, counts, created_at, lines
select
    'o' || n, customer, customer_id, true, created_at,
    [{'product_id': product_id, 'title': title, 'quantity': 1, 'price': 5.00, 'total': 5.00}]
from (values
    (1, 1, 'a', '2025-01-01', 'p1', 'Old mug'),
    (2, 1, 'a', '2025-06-01', 'p1', null),
    (3, 2, 'b', '2025-03-01', 'p1', 'Mug'),
    (4, null, null, '2025-01-01', 'p2', 'Old cup'),
    (5, null, null, '2025-06-01', 'p2', null),
    (6, 2, 'b', '2025-03-01', 'p2', 'Cup')
) as placed (n, customer, customer_id, created_at, product_id, title)
-- expect product_performance: product_id, title, last_ordered_at
values ('p1', 'Mug', '2025-06-01'), ('p2', 'Cup', '2025-06-01')

-- case: a store without orders has sold nothing
-- expect product_performance: product_id

-- case: what customers whom the store removed bought was sold, to no customer
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, created_at, lines
select
    'o' || n, subject, 'complete', 'USD', 5.00, '2025-01-01',
    [{'product_id': 'p1', 'title': 'Mug', 'quantity': 1, 'price': 5.00, 'total': 5.00}]
from (values (1, 1), (2, 2), (3, 2)) as placed (n, subject)
-- expect product_performance: product_id, quantity, order_count, customer_count, revenue, repeat_purchase_rate
values ('p1', 3, 3, 1, 15.00, 0.0)
-- expect ltv: customer
values (1)
-- expect cadence: customer
values (1)

-- case: amounts are summed however large they are
-- given orders: id, customer, customer_id, counts, created_at, lines
select
    'o' || n, case when n < 3 then n end, case when n < 3 then 'c' || n end, true, '2025-01-01',
    [{'product_id': 'p1', 'title': 'Mug', 'quantity': 2147483647, 'price': 99999999999.99, 'total': total}]
from range(6) as placed (n), (values (null), (9999999999999999.99)) as line (total)
-- expect product_performance: quantity, revenue
select 12::bigint * 2147483647, 3 * 9999999999999.99 + 3 * (9999999999999999.99 + 2147483647 * 99999999999.99::decimal(38, 2))
