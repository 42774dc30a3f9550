-- case: the events of one session id are one visit, which begins where its first event was
-- given events: event_id, subject, session_id, occurred_at, url, path, referrer, landing_page, utm_source, utm_campaign, properties
values
    ('e2', 1, 's1', '2025-03-01 11:00', 'https://shop/b', '/b', 'https://shop/a', null, null, null, null),
    ('e1', 1, 's1', '2025-03-01 10:00', 'https://shop/a', '/a', 'https://search', '/a', 'ads', 'spring', '{"device": "mobile"}'),
    ('e3', 1, 's2', '2025-03-01 11:01', 'https://shop/c', '/c', null, null, null, null, '{}')
-- expect stg_sessions: customer, session_id, started_at, ended_at, duration_seconds, events, entry_url, entry_path, referrer, landing_page, utm_source, utm_medium, utm_campaign, device
values
    (1, 's1', '2025-03-01 10:00', '2025-03-01 11:00', 3600, 2, 'https://shop/a', '/a', 'https://search', '/a', 'ads', null, 'spring', 'mobile'),
    (1, 's2', '2025-03-01 11:01', '2025-03-01 11:01', 0, 1, 'https://shop/c', '/c', null, null, null, null, null, null)

-- case: a visit came from where its first page did, not in part from where a later one says
-- given events: event_id, subject, session_id, occurred_at, url, path, referrer, utm_source, utm_campaign, properties
values
    ('e0', 1, 's1', '2025-03-01 10:00:00', null, null, 'https://app', null, null, null),
    ('e1', 1, 's1', '2025-03-01 10:00:00.900', 'https://shop/a', null, null, 'newsletter', null, null),
    ('e2', 1, 's1', '2025-03-01 10:00:01.899', 'https://shop/b', '/b', 'https://shop/a', 'ads', 'may', '{"device": "mobile"}')
-- expect stg_sessions: session_id, duration_seconds, events, entry_url, entry_path, referrer, utm_source, utm_campaign, device
values ('s1', 1, 3, 'https://shop/a', null, null, 'newsletter', null, 'mobile')

-- case: without a session id a pause of more than 30 minutes ends a visit
-- given events: event_id, subject, occurred_at, path
values
    ('e1', 1, '2025-03-01 10:00', '/a'),
    ('e2', 1, '2025-03-01 10:30', '/b'),
    ('e3', 1, '2025-03-01 11:00:01', '/c'),
    ('e4', 2, '2025-03-01 10:10', '/d')
-- expect stg_sessions: customer, session_id, by_pauses, started_at, ended_at, events
values
    (1, 'e1', true, '2025-03-01 10:00', '2025-03-01 10:30', 2),
    (1, 'e3', true, '2025-03-01 11:00:01', '2025-03-01 11:00:01', 1),
    (2, 'e4', true, '2025-03-01 10:10', '2025-03-01 10:10', 1)

-- case: events before 1970 have their place before all others
-- given events: event_id, subject, session_id, occurred_at, path
values
    ('e1', 1, 's1', '1950-03-01 10:00', '/a'),
    ('e2', 1, 's1', '1950-03-01 10:00:01', '/b'),
    ('e3', 1, null, '1969-12-31 23:50', '/c'),
    ('e4', 1, null, '1970-01-01 00:10', '/d')
-- expect stg_sessions: customer, session_id, started_at, ended_at, events, entry_path
values
    (1, 's1', '1950-03-01 10:00', '1950-03-01 10:00:01', 2, '/a'),
    (1, 'e3', '1969-12-31 23:50', '1970-01-01 00:10', 2, '/c')

-- case: two browsers of one customer make visits of their own
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, occurred_at, path
values
    ('e1', 1, '2025-03-01 10:00', '/a'),
    ('e2', 2, '2025-03-01 10:10', '/b'),
    ('e3', 1, '2025-03-01 10:20', '/c')
-- expect stg_sessions: customer, session_id, events
values (1, 'e1', 2), (1, 'e2', 1)

-- case: what happens on no page makes no visit, and neither does what happened to nobody
-- given events: event_id, subject, session_id, occurred_at, path
values
    ('e1', 1, null, '2025-03-01 10:00', null),
    ('e2', null, 's1', '2025-03-01 10:00', '/a')
-- expect stg_sessions: customer

-- case: the visits of a merged profile are its survivor's
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, session_id, occurred_at, path
values ('e1', 1, 's1', '2025-03-01', '/a'), ('e2', 2, 's2', '2025-03-01', '/b')
-- expect stg_sessions: customer, session_id
values (1, 's1'), (1, 's2')

-- case: at one instant the first page is the one that was sent first
-- given events: event_id, subject, session_id, occurred_at, received_at, line, path
values
    ('e1', 1, 's1', '2025-03-01 10:00', '2025-03-01 10:00', 9, '/c'),
    ('e2', 1, 's1', '2025-03-01 10:00', '2025-03-01 10:00', 10, '/d'),
    ('e3', 1, 's1', '2025-03-01 10:00', '2025-03-01 10:00', 8, '/b'),
    ('e4', 1, null, '2025-03-01 10:00', '2025-03-01 11:00', 0, '/y'),
    ('e5', 1, null, '2025-03-01 10:00', '2025-03-01 10:30', 1, '/x'),
    ('e6', 1, null, '2025-03-01 10:00', '2025-03-01 11:00', 1, '/z')
-- expect stg_sessions: session_id, events, entry_path
values ('s1', 3, '/b'), ('e5', 3, '/x')

-- case: an empty session id is none
-- given events: event_id, subject, session_id, occurred_at, path
values
    ('e1', 1, '', '2025-03-01 10:00', '/a'),
    ('e2', 1, '', '2025-03-07 10:00', '/b'),
    ('e3', 1, '', '2025-03-07 10:00', null)
-- expect stg_sessions: session_id, by_pauses, events, entry_path
values ('e1', true, 1, '/a'), ('e2', true, 1, '/b')
