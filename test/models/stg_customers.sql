-- case: a merged profile is left out
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b')
-- given subject_redirect: subject, customer
values (2, 1)
-- expect stg_customers: customer, customer_id
values (1, 'a')

-- case: a profile that was created after as_of is in: its orders may be older
-- params as_of='2011-12-10'
-- given customers_source: subject, customer_id, created_at
values (1, 'a', '2025-01-01')
-- expect stg_customers: customer, created_at
values (1, '2025-01-01')
