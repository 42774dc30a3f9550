-- case: a subscription is under the customer that it belongs to now, one of nobody is there as well
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b')
-- given subject_redirect: subject, customer
values (2, 1)
-- given subscriptions_source: subscription_id, external_id, subject, status, price, started_at
values ('s1', '1', 2, 'active', 9.90, '2025-01-01'), ('s2', '2', null, 'paused', 5, '2025-01-01')
-- expect subscriptions: id, external_id, customer, customer_id, status, price
values ('s1', '1', 1, 'a', 'active', 9.90), ('s2', '2', null, null, 'paused', 5.00)
