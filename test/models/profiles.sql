-- case: who is known by the pixel alone is anonymous; identities and the properties that events set are the survivor's
-- given customers_source: subject, customer_id, store_customer_id, email, provenance, created_at
values
    (1, 'myshopify:demo:1', '1', 'ada@example.com', 'server', '2025-01-01'),
    (2, 'b', null, null, 'pixel', '2025-01-02'),
    (3, 'c', null, null, 'pixel', '2025-01-03')
-- given subject_redirect: subject, customer
values (2, 1)
-- given visitors: visitor_id, subject
values ('v2', 2), ('v3', 3), ('v1', 1)
-- given events: event_id, subject, event_type, occurred_at, received_at, properties
values
    ('e1', 1, 'updateProperties', '2025-02-01', '2025-02-01', '{"plan": "free", "seats": 2}'),
    ('e2', 2, 'updateProperties', '2025-02-02', '2025-02-02', '{"plan": "gold", "tags": ["x"]}')
-- expect profiles: item_id, provenance, bucket, email, store_customer_id, visitor_ids, properties, first_visit, last_visit
values
    ('myshopify:demo:1', 'server', 'customers', 'ada@example.com', '1', ['v1', 'v2'],
        '{"plan":"gold","seats":2,"tags":["x"]}', '2025-01-01', '2025-02-02'),
    ('c', 'pixel', 'anonymous', null, null, ['v3'], '{}', '2025-01-03', null)

-- case: two customers made one are merged, in the customers' bucket
-- given customers_source: subject, customer_id, email, provenance, created_at
values (1, 'a', 'ada@example.com', 'server', '2025-01-01'), (2, 'b', 'bea@example.com', 'server', '2025-01-02')
-- given subject_redirect: subject, customer
values (2, 1)
-- expect profiles: item_id, provenance, bucket, email
values ('a', 'merged', 'customers', 'ada@example.com')
