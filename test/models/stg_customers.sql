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

-- case: what the survivor lacks comes from whom it absorbed, the oldest first, and it is called merged
-- given customers_source: subject, customer_id, store_customer_id, email, phone, first_name, last_name, tags, provenance, created_at, updated_at
values
    (1, 'guest', null, 'g@example.com', null, 'Gi', null, ['b', 'a'], 'server', '2025-01-01', '2025-01-01'),
    (2, 'other', null, 'o@example.com', '+12025550123', 'Ot', 'Her', ['c'], 'server', '2025-01-03', '2025-05-03'),
    (3, 'shop:9', '9', null, null, null, null, ['a'], 'server', '2025-01-02', '2025-02-02')
-- given subject_redirect: subject, customer
values (1, 3), (2, 3)
-- expect stg_customers
values (
    3, 'shop:9', '9', 'g@example.com', '+12025550123', 'Gi', null, ['a', 'b', 'c'],
    ['g@example.com', 'Gi', 'guest', 'o@example.com', '+12025550123', 'Ot Her', 'other'], 'merged', '2025-01-01', '2025-05-03'
)

-- case: what the survivor says itself prevails
-- given customers_source: subject, customer_id, email, phone, first_name, last_name, provenance, created_at, updated_at
values
    (1, 'a', 'a@example.com', '+12025550123', 'Ada', 'Byron', 'server', '2025-01-02', '2025-01-02'),
    (2, 'b', 'b@example.com', '+12025550124', 'Bo', 'Bo', 'server', '2025-01-03', '2025-01-03')
-- given subject_redirect: subject, customer
values (2, 1)
-- expect stg_customers: customer, email, phone, first_name, last_name, provenance, created_at, updated_at
values (1, 'a@example.com', '+12025550123', 'Ada', 'Byron', 'merged', '2025-01-02', '2025-01-03')

-- case: a visitor adds nothing to its customer, who is not called merged
-- given customers_source: subject, customer_id, email, phone, first_name, tags, provenance, created_at, updated_at
values
    (1, 'a', 'a@example.com', null, null, ['vip'], 'server', '2025-01-02', '2025-01-02'),
    (2, 'v', 'forged@example.com', '+12025550124', 'Mallory', ['forged'], 'pixel', '2025-01-01', '2025-06-01')
-- given subject_redirect: subject, customer
values (2, 1)
-- expect stg_customers: customer, email, phone, first_name, tags, aliases, provenance, created_at, updated_at
values (1, 'a@example.com', null, null, ['vip'], null, 'server', '2025-01-02', '2025-01-02')
