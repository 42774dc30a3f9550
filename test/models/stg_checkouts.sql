-- case: a checkout is under the customer that it belongs to now, later ones are left out
-- params as_of='2025-06-01'
-- given subject_redirect: subject, customer
values (2, 1)
-- given checkouts: checkout_id, subject, state, total, created_at
values ('c1', 2, 'open', 10, '2025-06-01'), ('c2', 1, 'open', 10, '2025-06-02')
-- expect stg_checkouts: checkout_id, customer, state, total
values ('c1', 1, 'open', 10.00)
