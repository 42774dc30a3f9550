-- case: a merge names both profiles by their public ids, and the customer as long as it stands
-- given customers_source: subject, customer_id
values (1, 'a'), (2, 'b'), (3, 'c')
-- given subject_redirect: subject, customer
values (2, 1)
-- given merges: merge_id, from_subject, to_subject, evidence_kind, source, undone_at, undone_by
values
    ('m1', 2, 1, 'email', 'server', null, null),
    ('m2', 3, 2, 'phone', 'import', '2025-02-01', 'cli')
-- expect stg_merges: merge_id, from_customer_id, to_customer_id, customer, evidence_kind, source, undone_at, undone_by
values
    ('m1', 'b', 'a', 1, 'email', 'server', null, null),
    ('m2', 'c', 'b', null, 'phone', 'import', '2025-02-01', 'cli')
