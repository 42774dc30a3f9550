-- case: an order is under the customer that it belongs to now, test orders and later ones are left out
-- params as_of='2025-06-01'
-- given subject_redirect: subject, customer
values (2, 1)
-- given orders_source: order_id, subject, test, created_at
values
    ('kept', 1, false, '2025-01-01'),
    ('merged', 2, false, '2025-01-01'),
    ('nobody', null, false, '2025-01-01'),
    ('test', 1, true, '2025-01-01'),
    ('later', 1, false, '2025-06-02')
-- expect stg_orders: order_id, customer
values ('kept', 1), ('merged', 1), ('nobody', null)

-- case: missing amounts and lists are zero and empty, an unknown subtotal stays unknown
-- given orders_source: order_id, total, created_at
values ('o1', 10, '2025-01-01')
-- expect stg_orders: order_id, subtotal, discount_total, total, refunded_total, discount_codes, item_count, lines
values ('o1', null, 0.00, 10.00, 0.00, [], 0, [])

-- case: item_count is the units of all lines
-- given orders_source: order_id, lines, created_at
values
    ('o1', [{'id': 'l1', 'quantity': 2}, {'id': 'l2', 'quantity': 3}], '2025-01-01'),
    ('o2', [{'id': 'l3', 'quantity': null}], '2025-01-01')
-- expect stg_orders: order_id, item_count
values ('o1', 5), ('o2', 0)

-- case: amounts, state and times are the store's
-- given orders_source: order_id, external_id, number, state, billing_status, currency_code, subtotal, discount_total, total, discount_codes, created_at, updated_at, cancelled_at, recovered_at
values ('o1', '900', '#1001', 'cancelled', 'voided', 'USD', 12, 2, 10, ['TEN'], '2025-01-01', '2025-01-03', '2025-01-02', '2025-01-01 01:00')
-- expect stg_orders: order_id, external_id, number, state, billing_status, currency_code, subtotal, discount_total, total, discount_codes, created_at, updated_at, cancelled_at, recovered_at
values ('o1', '900', '#1001', 'cancelled', 'voided', 'USD', 12, 2, 10, ['TEN'], '2025-01-01', '2025-01-03', '2025-01-02', '2025-01-01 01:00')

-- case: items are counted as far as whole numbers go
-- given orders_source: order_id, created_at, lines
values ('o1', '2025-01-01', [{'quantity': 2000000000}, {'quantity': 2000000000}])
-- expect stg_orders: order_id, item_count
values ('o1', 2147483647)
