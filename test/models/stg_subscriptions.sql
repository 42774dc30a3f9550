-- case: a subscription is under the customer that it belongs to now, later ones are left out
-- params as_of='2025-06-01'
-- given subject_redirect: subject, customer
values (2, 1)
-- given subscriptions_source: subscription_id, subject, status, started_at
values
    ('s1', 2, 'active', '2025-06-01'),
    ('s2', 1, 'active', '2025-06-02'),
    ('s3', 1, 'active', null)
-- expect stg_subscriptions: subscription_id, customer
values ('s1', 1), ('s3', 1)
