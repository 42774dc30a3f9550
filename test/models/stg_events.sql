-- case: an event keeps its subject and is under the customer that it belongs to now
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, event_type, occurred_at
values ('e1', 1, 'page_viewed', '2025-01-01'), ('e2', 2, 'page_viewed', '2025-01-01')
-- expect stg_events: event_id, customer, subject
values ('e1', 1, 1), ('e2', 1, 2)

-- case: events after as_of are left out, those of that instant are in
-- params as_of='2025-06-01'
-- given events: event_id, subject, occurred_at
values ('e1', 1, '2025-06-01'), ('e2', 1, '2025-06-01 00:00:01')
-- expect stg_events: event_id
values ('e1')
