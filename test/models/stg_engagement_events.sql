-- case: the four kinds, with the campaign that they belong to; other events are none of them
-- given events: event_id, subject, event_type, campaign_id, message_id, conversation_id, occurred_at
values
    ('e1', 1, 'message_sent', 'c1', 'm1', 't1', '2025-01-01'),
    ('e2', 1, 'message_delivered', 'c1', 'm1', 't1', '2025-01-02'),
    ('e3', 1, 'message_replied', null, 'm2', 't1', '2025-01-03'),
    ('e4', 1, 'link_clicked', 'c2', 'm3', null, '2025-01-04'),
    ('e5', 1, 'page_viewed', 'c1', null, null, '2025-01-05'),
    ('e6', 1, 'message_opened', 'c1', 'm1', 't1', '2025-01-06')
-- expect stg_engagement_events: event_id, customer, event_kind, campaign_id, message_id, conversation_id, occurred_at
values
    ('e1', 1, 'message_sent', 'c1', 'm1', 't1', '2025-01-01'),
    ('e2', 1, 'message_delivered', 'c1', 'm1', 't1', '2025-01-02'),
    ('e3', 1, 'message_replied', null, 'm2', 't1', '2025-01-03'),
    ('e4', 1, 'link_clicked', 'c2', 'm3', null, '2025-01-04')

-- case: what is said of an email is left out; sms and agent messages count, and those that don't say
-- given events: event_id, subject, event_type, properties, occurred_at
values
    ('e1', 1, 'message_sent', '{"channel": "sms"}', '2025-01-01'),
    ('e2', 1, 'message_sent', '{"channel": "agent"}', '2025-01-02'),
    ('e3', 1, 'message_sent', '{"channel": "email"}', '2025-01-03'),
    ('e4', 1, 'link_clicked', '{}', '2025-01-04'),
    ('e5', 1, 'link_clicked', null, '2025-01-05')
-- expect stg_engagement_events: event_id
values ('e1'), ('e2'), ('e4'), ('e5')

-- case: they are the survivor's, and only those up to as_of
-- params as_of='2025-06-01'
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, event_type, occurred_at
values
    ('e1', 2, 'message_sent', '2025-05-31'),
    ('e2', 2, 'message_sent', '2025-06-02')
-- expect stg_engagement_events: event_id, customer
values ('e1', 1)

-- case: messages of the service count when they were sent, delivered and answered; those of email do not
-- given messages: message_id, conversation_id, campaign_id, subject, direction, channel, created_at, sent_at, delivered_at
values
    ('m1', 't1', 'c1', 1, 'outbound', 'sms', '2025-01-01', '2025-01-02', '2025-01-03'),
    ('m2', 't1', 'c1', 1, 'inbound', 'sms', '2025-01-04', null, null),
    ('m3', 't2', null, 1, 'outbound', 'sms', '2025-01-05', null, null),
    ('m4', 't3', 'c1', 1, 'outbound', 'email', '2025-01-05', '2025-01-05', null)
-- expect stg_engagement_events: customer, event_kind, campaign_id, message_id, conversation_id, occurred_at
values
    (1, 'message_sent', 'c1', 'm1', 't1', timestamp '2025-01-02'),
    (1, 'message_delivered', 'c1', 'm1', 't1', timestamp '2025-01-03'),
    (1, 'message_replied', 'c1', 'm2', 't1', timestamp '2025-01-04')
