-- case: complete orders in the brand's currency count, net of what was refunded, on the day of the brand's zone
-- params timezone='America/New_York'
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, external_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', '1', 1, 'complete', 'USD', 10.00, 2.50, '2025-01-02 04:59:59'),
    ('o2', '2', 1, 'complete', 'EUR', 10.00, 0, '2025-01-02 05:00:00'),
    ('o3', '3', 1, 'pending', 'USD', 10.00, 0, '2025-07-02 04:00:00'),
    ('o4', '4', null, 'complete', 'USD', 10.00, null, '2025-07-02 03:59:59'),
    ('o5', '5', 1, 'complete', null, 10.00, 0, '2025-07-02 12:00:00')
-- expect orders: id, external_id, customer, customer_id, counts, net_total, ordered_on
values
    ('o1', '1', 1, 'a', true, 7.50, '2025-01-01'),
    ('o2', '2', 1, 'a', false, 10.00, '2025-01-02'),
    ('o3', '3', 1, 'a', false, 10.00, '2025-07-02'),
    ('o4', '4', null, null, true, 10.00, '2025-07-01'),
    ('o5', '5', 1, 'a', false, 10.00, '2025-07-02')

-- case: test orders are no orders
-- given orders_source: order_id, subject, state, currency_code, total, test, created_at
values ('o1', 1, 'complete', 'USD', 10, true, '2025-01-01')
-- expect orders: id
