-- case: a refund belongs to the customer who absorbed the one that it names
-- given subject_redirect: subject, customer
values (2, 1)
-- given refunds: refund_id, external_id, order_external_id, subject, currency_code, total, created_at
values
    ('r1', '901', null, 2, 'USD', 12.50, '2025-03-01 10:00'),
    ('r2', '902', '77', null, 'USD', 5.00, '2025-03-02 10:00')
-- expect stg_refunds
values
    ('r1', '901', null, 1, 'USD', 12.50, '2025-03-01 10:00'),
    ('r2', '902', '77', null, 'USD', 5.00, '2025-03-02 10:00')

-- case: what was refunded after as_of is not known yet
-- params as_of='2025-03-01'
-- given refunds: refund_id, total, created_at
values ('r1', 1.00, '2025-03-01 00:00'), ('r2', 1.00, '2025-03-01 00:01')
-- expect stg_refunds: refund_id
values ('r1')
