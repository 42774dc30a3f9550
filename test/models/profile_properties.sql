-- case: of what was set on the profiles of a customer the last word counts, and who has nothing set is left out
-- given customers_source: subject, customer_id, provenance, created_at
values
    (1, 'a', 'server', '2025-01-01'),
    (2, 'b', 'pixel', '2025-01-02'),
    (3, 'c', 'pixel', '2025-01-03')
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, event_type, occurred_at, received_at, properties
values
    ('e1', 1, 'updateProperties', '2025-02-01', '2025-02-01', '{"plan": "free", "seats": 2, "left": true}'),
    ('e2', 2, 'updateProperties', '2025-02-02', '2025-02-02', '{"plan": "gold", "tags": ["x"], "left": null}'),
    ('e3', 3, 'updateProperties', '2025-02-03', '2025-02-03', '{}')
-- expect profile_properties: customer, properties
values (1, '{"plan":"gold","seats":2,"tags":["x"]}')
