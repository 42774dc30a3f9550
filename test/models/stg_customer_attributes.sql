-- case: each name has the value that was set last, by the time at which it happened
-- given events: event_id, subject, event_type, properties, occurred_at, received_at
values
    ('e1', 1, 'updateProperties', '{"plan": "gold", "seats": 3}', '2025-03-02', '2025-03-02'),
    ('e2', 1, 'updateProperties', '{"plan": "free"}', '2025-03-01', '2025-03-03'),
    ('e3', 2, 'updateProperties', '{"plan": "free"}', '2025-03-01', '2025-03-01'),
    ('e4', 1, 'page_viewed', '{"plan": "none"}', '2025-03-04', '2025-03-04')
-- expect stg_customer_attributes: customer, name, value, set_at
values
    (1, 'plan', 'gold', '2025-03-02'),
    (1, 'seats', '3', '2025-03-02'),
    (2, 'plan', 'free', '2025-03-01')

-- case: of one instant the later line counts, and the later receipt before it
-- given events: event_id, subject, event_type, properties, occurred_at, received_at, batch_id, line
values
    ('e1', 1, 'updateProperties', '{"a": "first"}', '2025-03-01', '2025-03-02', '00000000-0000-7000-8000-000000000001', 9),
    ('e2', 1, 'updateProperties', '{"a": "third"}', '2025-03-01', '2025-03-02', '00000000-0000-7000-8000-000000000002', 8),
    ('e3', 1, 'updateProperties', '{"a": "second"}', '2025-03-01', '2025-03-02', '00000000-0000-7000-8000-000000000002', 7),
    ('e4', 2, 'updateProperties', '{"a": "later"}', '2025-03-01', '2025-03-03', '00000000-0000-7000-8000-000000000001', 1),
    ('e5', 2, 'updateProperties', '{"a": "earlier"}', '2025-03-01', '2025-03-02', '00000000-0000-7000-8000-000000000002', 2)
-- expect stg_customer_attributes: customer, name, value
values (1, 'a', 'third'), (2, 'a', 'later')

-- case: what a merged profile set is its survivor's
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, event_type, properties, occurred_at
values
    ('e1', 1, 'updateProperties', '{"plan": "free", "size": "M"}', '2025-03-01'),
    ('e2', 2, 'updateProperties', '{"plan": "gold"}', '2025-03-02'),
    ('e3', null, 'updateProperties', '{"plan": "nobody"}', '2025-03-03')
-- expect stg_customer_attributes: customer, name, value
values (1, 'plan', 'gold'), (1, 'size', 'M')

-- case: a name that was set to null last is not set, one that was set after as_of not yet
-- params as_of='2025-06-01'
-- given events: event_id, subject, event_type, properties, occurred_at
values
    ('e1', 1, 'updateProperties', '{"plan": "gold", "size": "M"}', '2025-03-01'),
    ('e2', 1, 'updateProperties', '{"plan": null}', '2025-03-02'),
    ('e3', 1, 'updateProperties', '{"size": "XL"}', '2025-06-02')
-- expect stg_customer_attributes: customer, name, value
values (1, 'size', 'M')

-- case: every JSON value has its kind, and the number, moment or elements that it can be read as
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{
    "text": "say \"hi\"", "whole": 12, "broken": -0.5, "huge": 1e300, "yes": true, "day": "2025-01-31",
    "zoned": "2025-01-31T01:00:00+01:00", "list": ["a", 1, "b"], "none": [], "thing": {"a": 1}, "digits": "42", "": 1
}', '2025-01-01')
-- expect stg_customer_attributes: name, kind, value, elements, number, moment
values
    ('text', 'string', 'say "hi"', ['say "hi"'], null, null),
    ('whole', 'number', '12', ['12'], 12, null),
    ('broken', 'number', '-0.5', ['-0.5'], -0.5, null),
    ('huge', 'number', '1e300', ['1e300'], null, null),
    ('yes', 'boolean', 'true', ['true'], null, null),
    ('day', 'string', '2025-01-31', ['2025-01-31'], null, '2025-01-31'),
    ('zoned', 'string', '2025-01-31T01:00:00+01:00', ['2025-01-31T01:00:00+01:00'], null, '2025-01-31'),
    ('list', 'list', '["a",1,"b"]', ['a', '1', 'b'], null, null),
    ('none', 'list', '[]', [], null, null),
    ('thing', 'object', '{"a":1}', [], null, null),
    ('digits', 'string', '42', ['42'], 42, null)

-- case: of a list each element is looked at as a number
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{
    "sizes": [41, 42.5, "43", "L", null, true], "none": [], "one": 44, "text": "L", "thing": {"a": 1}
}', '2025-01-01')
-- expect stg_customer_attributes: name, numbers
values
    ('sizes', [41, 42.5, 43, null, null, null]),
    ('none', []),
    ('one', [44]),
    ('text', [null]),
    ('thing', [])

-- case: names that look like paths, quotes or SQL are names
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{"$.a": 1, "/b": 2, "c''; drop table x": 3, "d\"e": 4, "f.g": 5, "*": 6}', '2025-01-01')
-- expect stg_customer_attributes: name, value
values ('$.a', '1'), ('/b', '2'), ('c''; drop table x', '3'), ('d"e', '4'), ('f.g', '5'), ('*', '6')

-- case: a time that windows cannot be reckoned from is a text
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{"last": "9999-12-30", "far": "294246-12-31", "never": "infinity", "old": "44-03-15 (BC)"}', '2025-01-01')
-- expect stg_customer_attributes: name, value, moment
values
    ('last', '9999-12-30', '9999-12-30'),
    ('far', '294246-12-31', null),
    ('never', 'infinity', null),
    ('old', '44-03-15 (BC)', null)

-- case: times with zones are read behind minutes, too, and behind a space; abbreviations of several zones are none
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{"a": "2026-07-13T08:00Z", "b": "2026-07-13 08:00 +02:00", "c": "2026-07-13 08:00 Europe/Berlin", "d": "2026-07-13 08:00:00 BST", "e": " 2026-07-13T08:00-0530 "}', '2025-01-01')
-- expect stg_customer_attributes: name, moment
values
    ('a', '2026-07-13 08:00:00'),
    ('b', '2026-07-13 06:00:00'),
    ('c', '2026-07-13 06:00:00'),
    ('d', null),
    ('e', '2026-07-13 13:30:00')

-- case: zones are read in any case, behind GMT and of one digit, and are none further from UTC than 15:59
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{"a": "2026-07-13t08:00:00z", "b": "2026-07-13 08:00 GMT+2", "c": "2026-07-13 08:00:00 utc -05:30", "d": "2026-07-13 08:00:00+99:00", "e": "2026-07-13 08:00:00+05:60", "f": "2026-07-13t08:00", "g": "2026-07-13 08:00:00 Etc/GMT+2"}', '2025-01-01')
-- expect stg_customer_attributes: name, moment
values
    ('a', '2026-07-13 08:00:00'),
    ('b', '2026-07-13 06:00:00'),
    ('c', '2026-07-13 13:30:00'),
    ('d', null),
    ('e', null),
    ('f', '2026-07-13 08:00:00'),
    ('g', '2026-07-13 10:00:00')

-- case: a time without a zone is UTC, whatever zone another names
-- given events: event_id, subject, event_type, properties, occurred_at
values (1, 1, 'updateProperties', '{"a": "2026-07-13 08:00:00 America/New_York", "b": "2026-07-13 08:00:00", "c": "2026-07-13", "d": "2026-07-13T08:00", "e": "2026-07-13 08:00:00+02", "f": "2026-07-13T08:00:00Z"}', '2025-01-01')
-- expect stg_customer_attributes: name, moment
values
    ('a', '2026-07-13 12:00:00'),
    ('b', '2026-07-13 08:00:00'),
    ('c', '2026-07-13 00:00:00'),
    ('d', '2026-07-13 08:00:00'),
    ('e', '2026-07-13 06:00:00'),
    ('f', '2026-07-13 08:00:00')

-- case: an event with more than 16 KB of properties sets nothing
-- given events: event_id, subject, event_type, properties, occurred_at
select 'e' || n, 1, 'updateProperties', properties, '2025-03-01'::timestamp + to_days(n)
from (
    values (0, '{"plan": "gold"}'), (1, '{"plan":"' || repeat('x', 16373) || '"}'), (2, '{"plan":"' || repeat('é', 8187) || '"}')
) as sent (n, properties)
-- expect stg_customer_attributes: name, strlen(value), set_at
values ('plan', 16373, '2025-03-02')

-- case: of a profile 250 names count, those that were set last; a name that is not set takes nobody's place
-- given subject_redirect: subject, customer
values (2, 1)
-- given events: event_id, subject, event_type, properties, occurred_at, line
select n, 1 + n % 2, 'updateProperties', '{"name ' || n || '": ' || n || ', "left ' || n || '": null}', '2025-03-01', n
from range(300) as sent (n)
union all
select 'first', 1, 'updateProperties', '{"name 7": "again"}', '2025-04-01', 0
union all
select 'other', 3, 'updateProperties', '{"plan": "free"}', '2020-01-01', 0
-- expect stg_customer_attributes: customer, name, value
select 1, 'name ' || n, n
from range(51, 300) as sent (n)
union all
values (1, 'name 7', 'again'), (3, 'plan', 'free')

-- case: of those the newest that come to 16 KB count, names and values
-- given events: event_id, subject, event_type, properties, occurred_at
select n, 1, 'updateProperties', '{"' || chr((97 + n)::integer) || '":"' || repeat('x', 4093) || '"}', '2025-03-01'::timestamp + to_days(n::integer)
from range(6) as sent (n)
union all
select 'small', 1, 'updateProperties', '{"small": 1}', '2020-01-01'
-- expect stg_customer_attributes: name
values ('f'), ('e'), ('d'), ('c')
-- expect profile_properties: json_keys(properties), strlen(cast(properties as varchar)) < 16500
values (['c', 'd', 'e', 'f'], true)

-- case: of what one event set the first by name count
-- given events: event_id, subject, event_type, properties, occurred_at
select 'e1', 1, 'updateProperties', json_group_object('n' || (1000 + n)::varchar, n), '2025-03-01'
from (from range(300) as sent (n) order by hash(n))
-- expect stg_customer_attributes: min(name), max(name), count(*)
values ('n1000', 'n1249', 250)
