-- case: a bucket begins at its lower bound and ends before its upper one
-- given customers: customer, customer_id, total_spend, orders_count
values
    (1, 'a', 0.00, 1),
    (2, 'b', 99.99, 1),
    (3, 'c', 100.00, 1),
    (4, 'd', 249.99, 1),
    (5, 'e', 250.00, 1),
    (6, 'f', 499.99, 1),
    (7, 'g', 500.00, 1),
    (8, 'h', 999.99, 1),
    (9, 'i', 1000.00, 1),
    (10, 'j', 280206.02, 73)
-- expect ltv: customer, bucket
values
    (1, '0-100'),
    (2, '0-100'),
    (3, '100-250'),
    (4, '100-250'),
    (5, '250-500'),
    (6, '250-500'),
    (7, '500-1000'),
    (8, '500-1000'),
    (9, '1000+'),
    (10, '1000+')

-- case: less than zero counts in the lowest bucket and is shown as it is
-- given customers: customer, customer_id, total_spend, orders_count, average_order_value, last_order_at
values (1, 'a', -12.50, 2, -6.25, '2025-01-01')
-- expect ltv
values (1, 'a', -12.50, 2, -6.25, '2025-01-01', '0-100')

-- case: only customers with a counted order are in it
-- given customers: customer, customer_id, total_spend, orders_count
values (1, 'a', 0.00, 0), (2, 'b', 0.00, 1)
-- expect ltv: customer
values (2)

-- case: lifetime value follows from orders and refunds
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', 1, 'complete', 'USD', 1200.00, 200.01, '2025-01-01'),
    ('o2', 2, 'cancelled', 'USD', 1200.00, 0, '2025-01-01')
-- expect ltv
values (1, 'a', 999.99, 1, 999.99, '2025-01-01', '500-1000')
