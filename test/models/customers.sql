-- case: completed orders are summed, net of what was refunded
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', 1, 'complete', 'USD', 100.00, 0, '2025-03-01 10:00'),
    ('o2', 1, 'complete', 'USD', 50.50, 20.25, '2025-01-01 09:00')
-- expect customers: customer, customer_id, total_spend, orders_count, average_order_value, first_order_at, last_order_at
values (1, 'a', 130.25, 2, 65.13, '2025-01-01 09:00', '2025-03-01 10:00')

-- case: a refund that names no order lowers what its customer spent, one that names an order is in that already
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b'), (3, 'c')
-- given orders_source: order_id, external_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', '11', 1, 'complete', 'USD', 100.00, 20.00, '2025-03-01'),
    ('o2', '12', 2, 'complete', 'USD', 30.00, 0, '2025-03-01')
-- given refunds: refund_id, order_external_id, subject, currency_code, total, created_at
values
    ('r1', '11', null, 'USD', 20.00, '2025-03-02'),
    ('r2', null, 1, 'USD', 15.50, '2025-03-03'),
    ('r3', null, 2, 'EUR', 9.00, '2025-03-03'),
    ('r4', null, 3, 'USD', 4.00, '2025-03-03')
-- expect customers: customer, total_spend, orders_count, average_order_value
values
    (1, 64.50, 1, 64.50),
    (2, 30.00, 1, 30.00),
    (3, -4.00, 0, null)

-- case: cancelled, refunded and pending orders count nowhere, not even as first or last order
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', 1, 'cancelled', 'USD', 10, 0, '2025-01-01'),
    ('o2', 1, 'complete', 'USD', 20, 0, '2025-02-01'),
    ('o3', 1, 'refunded', 'USD', 30, 30, '2025-03-01'),
    ('o4', 1, 'pending', 'USD', 40, 0, '2025-04-01'),
    ('o5', 2, 'cancelled', 'USD', 50, 0, '2025-01-01')
-- expect customers: customer, total_spend, orders_count, average_order_value, first_order_at, last_order_at
values
    (1, 20.00, 1, 20.00, '2025-02-01', '2025-02-01'),
    (2, 0.00, 0, null, null, null)

-- case: test orders count nowhere
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, test, created_at
values
    ('o1', 1, 'complete', 'USD', 10, true, '2025-01-01'),
    ('o2', 1, 'complete', 'USD', 20, false, '2025-02-01')
-- expect customers: customer, total_spend, orders_count, first_order_at
values (1, 20.00, 1, '2025-02-01')

-- case: orders in another currency than the brand's are never added
-- params currency_code='EUR'
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b')
-- given orders_source: order_id, subject, state, currency_code, total, created_at
values
    ('o1', 1, 'complete', 'EUR', 10, '2025-01-01'),
    ('o2', 1, 'complete', 'USD', 20, '2025-02-01'),
    ('o3', 2, 'complete', 'USD', 30, '2025-03-01'),
    ('o4', 1, 'complete', null, 40, '2025-04-01')
-- expect customers: customer, total_spend, orders_count, currency_code, last_order_at
values
    (1, 10.00, 1, 'EUR', '2025-01-01'),
    (2, 0.00, 0, 'EUR', null)

-- case: a visitor without orders or contact data is a row with zero spend and no average
-- given customers_source: subject, customer_id, provenance, created_at, updated_at
values (7, 'v', 'pixel', '2025-05-01 08:00', '2025-05-02 08:00')
-- expect customers
values (7, 'v', null, null, null, null, null, [], null, 'pixel', 0.00, 0, null, 'USD', null, null, null, '2025-05-01 08:00', '2025-05-02 08:00')

-- case: profile fields are those of the profile
-- given customers_source: subject, customer_id, store_customer_id, email, phone, first_name, last_name, tags, provenance
values (1, 'a', '42', 'ada@example.com', '+12025550123', 'Ada', 'Byron', ['vip', 'b2b'], 'server')
-- expect customers: customer, customer_id, store_customer_id, email, phone, first_name, last_name, tags, provenance
values (1, 'a', '42', 'ada@example.com', '+12025550123', 'Ada', 'Byron', ['vip', 'b2b'], 'server')

-- case: orders and events of a merged profile are its survivor's, and it has no row of its own
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b'), (3, 'c')
-- given subject_redirect: subject, customer
values (2, 1), (9, 1)
-- given orders_source: order_id, subject, state, currency_code, total, created_at
values
    ('o1', 1, 'complete', 'USD', 10, '2025-02-01'),
    ('o2', 2, 'complete', 'USD', 20, '2025-01-01'),
    ('o3', 3, 'complete', 'USD', 40, '2025-03-01')
-- given events: event_id, subject, event_type, occurred_at
values
    ('e1', 1, 'page_viewed', '2025-05-01'),
    ('e2', 2, 'page_viewed', '2025-06-01'),
    ('e3', 9, 'page_viewed', '2025-07-01')
-- expect customers: customer, customer_id, total_spend, orders_count, first_order_at, last_event_at
values
    (1, 'a', 30.00, 2, '2025-01-01', '2025-07-01'),
    (3, 'c', 40.00, 1, '2025-03-01', null)

-- case: nothing after as_of counts, what happened at that instant does
-- params as_of='2025-06-01 12:00:00'
-- given customers_source: subject, customer_id, created_at
values (1, 'a', '2025-12-01')
-- given orders_source: order_id, subject, state, currency_code, total, created_at
values
    ('o1', 1, 'complete', 'USD', 10, '2025-06-01 12:00:00'),
    ('o2', 1, 'complete', 'USD', 20, '2025-06-01 12:00:00.000001')
-- given events: event_id, subject, occurred_at
values
    ('e1', 1, '2025-06-01 12:00:00'),
    ('e2', 1, '2025-06-01 12:00:00.000001')
-- expect customers: customer, total_spend, orders_count, last_order_at, last_event_at
values (1, 10.00, 1, '2025-06-01 12:00:00', '2025-06-01 12:00:00')

-- case: two orders at one instant are two orders
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, created_at
values
    ('o1', 1, 'complete', 'USD', 10, '2025-01-01'),
    ('o2', 1, 'complete', 'USD', 10, '2025-01-01')
-- expect customers: total_spend, orders_count, first_order_at, last_order_at
values (20.00, 2, '2025-01-01', '2025-01-01')

-- case: orders and events of nobody, or of a removed profile, are on no row
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, created_at
values
    ('o1', null, 'complete', 'USD', 10, '2025-01-01'),
    ('o2', 5, 'complete', 'USD', 10, '2025-01-01')
-- given events: event_id, subject, occurred_at
values ('e1', null, '2025-01-01'), ('e2', 5, '2025-01-01')
-- expect customers: customer, total_spend, orders_count, last_event_at
values (1, 0.00, 0, null)

-- case: an order without refund or test mark is neither refunded nor a test
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, test, created_at
values ('o1', 1, 'complete', 'USD', 10, null, null, '2025-01-01')
-- expect customers: total_spend, orders_count
values (10.00, 1)

-- case: refunds above the total leave less than zero
-- given customers_source: subject, customer_id
values (1, 'a')
-- given orders_source: order_id, subject, state, currency_code, total, refunded_total, created_at
values
    ('o1', 1, 'complete', 'USD', 10.00, 25.00, '2025-01-01'),
    ('o2', 1, 'complete', 'USD', 5.00, 0, '2025-01-02')
-- expect customers: total_spend, orders_count, average_order_value
values (-10.00, 2, -5.00)

-- case: half a cent of an average goes away from zero, whatever its binary form
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')
-- given stg_orders: customer, state, currency_code, total, refunded_total, created_at
values
    (1, 'complete', 'USD', 5.35, 0, '2025-01-01'),
    (1, 'complete', 'USD', 0, 0, '2025-01-01'),
    (2, 'complete', 'USD', 2.01, 0, '2025-01-01'),
    (2, 'complete', 'USD', 0, 0, '2025-01-01'),
    (3, 'complete', 'USD', 0, 5.35, '2025-01-01'),
    (3, 'complete', 'USD', 0, 0, '2025-01-01'),
    (4, 'complete', 'USD', 9999999999999.97, 0, '2025-01-01'),
    (4, 'complete', 'USD', 0, 0, '2025-01-01')
-- expect customers: customer, average_order_value
values (1, 2.68), (2, 1.01), (3, -2.68), (4, 4999999999999.99)

-- case: a store without data has no customers
-- expect customers: customer

-- case: who spends absurd amounts spent 13 digits, and so did who got them back
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')
-- given orders_source: order_id, subject, state, currency_code, total, created_at
values
    ('o1', 1, 'complete', 'USD', 9999999999999999.99, '2025-01-01'),
    ('o2', 1, 'complete', 'USD', 9999999999999999.99, '2025-01-02'),
    ('o3', 3, 'complete', 'USD', 9999999999999.98, '2025-01-02'),
    ('o4', 4, 'complete', 'USD', 1.00, '2025-01-02')
-- given refunds: refund_id, subject, currency_code, total, created_at
values ('r1', 2, 'USD', 9999999999999999.99, '2025-01-01'), ('r2', 2, 'USD', 9999999999999999.99, '2025-01-02')
-- expect customers: customer, total_spend, average_order_value
values (1, 9999999999999.99, 5000000000000.00), (2, -9999999999999.99, null), (3, 9999999999999.98, 9999999999999.98), (4, 1.00, 1.00)
-- expect rfm: customer
values (1), (3), (4)
