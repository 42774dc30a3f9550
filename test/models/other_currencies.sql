-- case: complete orders in other currencies, less refunds that name no order; the brand's own currency is in none, who was removed no customer
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('a', 1, 'complete', 'EUR', 20.00, 5.00, '2025-01-01'),
    ('b', 2, 'complete', 'EUR', 10.00, 0.00, '2025-01-02'),
    ('c', 1, 'cancelled', 'EUR', 99.00, 0.00, '2025-01-02'),
    ('d', 1, 'complete', 'USD', 99.00, 0.00, '2025-01-02'),
    ('e', null, 'complete', 'GBP', 7.00, 0.00, '2025-01-02'),
    ('f', 3, 'complete', 'GBP', 1.00, 0.00, '2025-01-02')
-- given refunds: refund_id, order_external_id, subject, currency_code, total, created_at
values
    ('r', null, 1, 'EUR', 4.00, '2025-01-03'),
    ('s', 'x', 1, 'EUR', 5.00, '2025-01-03'),
    ('t', null, 1, 'USD', 5.00, '2025-01-03')
-- expect other_currencies
values ('EUR', 2, 2, 21.00), ('GBP', 2, 0, 8.00)
