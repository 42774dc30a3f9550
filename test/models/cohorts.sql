-- case: customers by the month of their first order, with every month since, those without orders too
-- params as_of='2025-04-10'
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b'), (3, 'c')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', 1, 'complete', 'USD', 10.00, 0, '2025-01-05'),
    ('o2', 1, 'complete', 'USD', 20.00, 5.00, '2025-03-05'),
    ('o3', 2, 'complete', 'USD', 30.00, 0, '2025-01-31'),
    ('o4', 2, 'cancelled', 'USD', 30.00, 0, '2025-02-01'),
    ('o5', 3, 'complete', 'USD', 40.00, 0, '2025-04-01'),
    ('o6', 3, 'complete', 'EUR', 40.00, 0, '2025-03-01')
-- expect cohorts
values
    ('2025-01-01', 0, 2, 2, 1.0, 40.00),
    ('2025-01-01', 1, 2, 0, 0.0, 0.00),
    ('2025-01-01', 2, 2, 1, 0.5, 15.00),
    ('2025-01-01', 3, 2, 0, 0.0, 0.00),
    ('2025-04-01', 0, 1, 1, 1.0, 40.00)

-- case: what was given back without naming an order lowers its month, in that of the first order when it was before
-- params as_of='2025-03-10'
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values ('o1', 1, 'complete', 'USD', 10.00, 0, '2025-02-05')
-- given refunds: refund_id, order_external_id, subject, currency_code, total, created_at
values
    ('r1', null, 1, 'USD', 1.00, '2025-01-01'),
    ('r2', null, 1, 'USD', 2.00, '2025-03-01'),
    ('r3', 'x', 1, 'USD', 4.00, '2025-03-01'),
    ('r4', null, 1, 'EUR', 8.00, '2025-03-01')
-- expect cohorts: month_number, active_customers, revenue
values (0, 1, 9.00), (1, 0, -2.00)

-- case: a month begins at midnight of the brand
-- params as_of='2025-02-01 12:00' timezone='America/New_York'
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values ('o1', 1, 'complete', 'USD', 10.00, 0, '2025-02-01 04:00')
-- expect cohorts: cohort_month, month_number, active_customers
values ('2025-01-01', 0, 1), ('2025-01-01', 1, 0)
