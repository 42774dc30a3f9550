-- case: messages written up to as_of, without what became of them later
-- params as_of='2025-06-01'
-- given subject_redirect: subject, customer
values (2, 1)
-- given messages: message_id, subject, direction, created_at, sent_at, delivered_at
values
    ('m1', 2, 'outbound', '2025-05-30', '2025-05-31', '2025-06-02'),
    ('m2', 1, 'outbound', '2025-05-30', '2025-06-02', null),
    ('m3', 1, 'inbound', '2025-06-02', null, null)
-- expect stg_messages: message_id, customer, sent_at, delivered_at
values ('m1', 1, timestamp '2025-05-31', null), ('m2', 1, null, null)
