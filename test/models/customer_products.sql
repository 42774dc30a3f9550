-- case: what a customer bought of a product in orders that count; two lines of an order are one order
-- given orders: id, customer, customer_id, counts, created_at, lines
values
    ('o1', 1, 'a', true, '2025-01-01', [
        {'product_id': 'p1', 'title': 'Mug', 'quantity': 2, 'price': 5.00, 'total': 10.00},
        {'product_id': 'p1', 'title': 'Mug', 'quantity': 1, 'price': 5.00, 'total': 5.00},
        {'product_id': 'p2', 'title': 'Tea', 'quantity': 1, 'price': 3.00, 'total': 3.00}
    ]),
    ('o2', 1, 'a', true, '2025-02-01', [{'product_id': 'p1', 'title': 'Big mug', 'quantity': 1, 'price': 6.00, 'total': null}]),
    ('o3', 1, 'a', false, '2025-03-01', [{'product_id': 'p1', 'title': 'Mug', 'quantity': 1, 'price': 5.00, 'total': 5.00}]),
    ('o4', null, null, true, '2025-03-01', [{'product_id': 'p1', 'title': 'Mug', 'quantity': 1, 'price': 5.00, 'total': 5.00}]),
    ('o5', 2, 'b', true, '2025-03-01', [{'product_id': null, 'title': 'Tip', 'quantity': 1, 'price': 5.00, 'total': 5.00}])
-- expect customer_products
values
    (1, 'p1', 'Big mug', '2025-02-01', 4, 2, 1, 21.00, 1.0, '2025-02-01'),
    (1, 'p2', 'Tea', '2025-01-01', 1, 1, 1, 3.00, 0.0, '2025-01-01')

-- case: each of the orders of a customer counts once, however many lines of it are of the product, and of how many it has
-- given orders: id, customer, customer_id, counts, created_at, lines
select
    'o' || lines, 1, 'a', true, '2025-01-01'::timestamp + to_days(lines::integer),
    list_transform(range(lines), lambda n: {
        'product_id': case when n % 4 < 3 then 'p' || n % 4 end, 'title': 'Cup', 'quantity': 1, 'price': 2.00, 'total': null
    })
from (values (4), (100), (101), (400)) as orders (lines)
-- expect customer_products: product_id, quantity, order_count, revenue
values ('p0', 152, 4, 304.00), ('p1', 151, 4, 302.00), ('p2', 151, 4, 302.00)

-- case: an order of 100,000 lines takes no longer than others
-- given orders: id, customer, customer_id, counts, created_at, lines
select 'o1', 1, 'a', true, '2025-01-01', list_transform(range(100000), lambda n: { 'product_id': 'p' || n // 2, 'quantity': 1, 'total': 1.00 })
-- expect customer_products: count(*), sum(order_count), sum(revenue)
values (50000, 50000, 100000.00)

-- case: what customers whom the store removed bought is bought by nobody
-- given orders: id, customer, customer_id, counts, created_at, lines
values ('o1', 1, null, true, '2025-01-01', [{'product_id': 'p1', 'title': 'Mug', 'quantity': 2, 'price': 5.00, 'total': 10.00}])
-- expect customer_products: product_id

-- case: the largest amounts have 13 digits
-- given orders: id, customer, customer_id, counts, created_at, lines
values ('o1', 1, 'a', true, '2025-01-01', [
    {'product_id': 'p1', 'quantity': 2147483647, 'price': 99999999999.99, 'total': null},
    {'product_id': 'p2', 'quantity': 1, 'price': 9999999999999999.99, 'total': 9999999999999999.99},
    {'product_id': 'p2', 'quantity': 1, 'price': 9999999999999999.99, 'total': 9999999999999999.99},
    {'product_id': 'p3', 'quantity': 2147483647, 'price': -99999999999.99, 'total': null}
])
-- expect customer_products: product_id, quantity, revenue
values
    ('p1', 2147483647, 9999999999999.99),
    ('p2', 2, 9999999999999.99),
    ('p3', 2147483647, -9999999999999.99)
