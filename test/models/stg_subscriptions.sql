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

-- case: a subscription of which nobody said when it started is of the time at which it was told of last
-- params as_of='2025-06-01'
-- given subscriptions_source: subscription_id, subject, status, started_at, updated_at
values
    ('s1', 1, 'active', '2025-05-01', '2025-05-20'),
    ('s2', 1, 'active', null, '2025-05-20')
-- expect stg_subscriptions: subscription_id, dated_at
values ('s1', '2025-05-01'), ('s2', '2025-05-20')
