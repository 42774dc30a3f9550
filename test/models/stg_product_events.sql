-- case: product events, and others that name a product; without a currency a price is in the brand's
-- params currency_code='USD'
-- given events: event_id, subject, event_type, product_id, product_title, variant_id, price, currency_code, quantity, occurred_at
values
    ('e1', 1, 'product_viewed', 'p1', 'Lamp', 'v1', 10, 'EUR', null, '2025-01-01'),
    ('e2', 1, 'product_added_to_cart', null, null, 'v1', null, null, 2, '2025-01-02'),
    ('e3', 1, 'back_in_stock_requested', 'p2', null, null, null, null, null, '2025-01-03'),
    ('e4', 1, 'page_viewed', null, null, null, null, null, null, '2025-01-04')
-- expect stg_product_events
values
    ('e1', 1, 'product_viewed', 'p1', 'Lamp', 'v1', 10.00, 'EUR', null, '2025-01-01'),
    ('e2', 1, 'product_added_to_cart', null, null, 'v1', null, 'USD', 2, '2025-01-02'),
    ('e3', 1, 'back_in_stock_requested', 'p2', null, null, null, 'USD', null, '2025-01-03')

-- case: a currency is one in whatever case, and none where nothing is said
-- params currency_code='USD'
-- given events: event_id, subject, event_type, product_id, price, currency_code, occurred_at
values
    ('e1', 1, 'product_viewed', 'p1', 10, 'usd', '2025-01-01'),
    ('e2', 1, 'product_viewed', 'p1', 10, ' Eur ', '2025-01-02'),
    ('e3', 1, 'product_viewed', 'p1', 10, '', '2025-01-03')
-- expect stg_product_events
values
    ('e1', 1, 'product_viewed', 'p1', null, null, 10.00, 'USD', null, '2025-01-01'),
    ('e2', 1, 'product_viewed', 'p1', null, null, 10.00, 'EUR', null, '2025-01-02'),
    ('e3', 1, 'product_viewed', 'p1', null, null, 10.00, 'USD', null, '2025-01-03')
