-- case: retired ids, store ids and visitors are under the customer whom they belong to now
-- given customers_source: subject, customer_id, store_customer_id, provenance, created_at
values
    (1, 'shop:9', '9', 'server', '2025-01-02'),
    (2, 'guest', null, 'server', '2025-01-01'),
    (3, 'visitor', null, 'pixel', '2025-01-03')
-- given subject_redirect: subject, customer
values (2, 1), (3, 1)
-- given visitors: visitor_id, subject
values ('v1', 3), ('v2', 1)
-- expect stg_identities: customer, subject, kind, value, provenance, first_seen_at, merged
values
    (1, 1, 'customer_id', 'shop:9', 'server', '2025-01-02', false),
    (1, 2, 'customer_id', 'guest', 'server', '2025-01-01', true),
    (1, 3, 'customer_id', 'visitor', 'pixel', '2025-01-03', true),
    (1, 1, 'store_customer_id', '9', 'server', '2025-01-02', false),
    (1, 3, 'visitor_id', 'v1', 'pixel', '2025-01-03', true),
    (1, 1, 'visitor_id', 'v2', 'server', '2025-01-02', false)
