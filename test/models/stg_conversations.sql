-- case: conversations begun up to as_of, the survivor's when their customer was merged, and nobody's
-- params as_of='2025-06-01'
-- given subject_redirect: subject, customer
values (2, 1)
-- given conversations: conversation_id, subject, campaign_id, opted_out_at, created_at
values
    ('c1', 2, 'a', '2025-05-31', '2025-05-30'),
    ('c2', null, null, null, '2025-06-01'),
    ('c3', 1, 'a', null, '2025-06-02')
-- expect stg_conversations: conversation_id, customer, campaign_id, opted_out_at
values ('c1', 1, 'a', timestamp '2025-05-31'), ('c2', null, null, null)
