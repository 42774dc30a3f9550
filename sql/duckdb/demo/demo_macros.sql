-- makes: the arithmetic of the demo store. Chance is hash(seed, who, which, salt), never random(): a value
-- depends on nothing but its own names, so threads and order of evaluation cannot change it. No exp, ln or
-- pow: their last bit differs between platforms.
-- reads variables: seed, run (differs with every argument, so that ids of two demos differ), word lists.

-- The outer hash is needed: hash of several values ends with an exclusive or of the last one's, so that
-- without it two salts would give values that differ by a constant.
create macro chance(who, which, salt) as hash(hash(getvariable('seed'), who::BIGINT, which::BIGINT, salt));
-- A number in [0, 1).
create macro roll(who, which, salt) as (chance(who, which, salt) >> 11)::DOUBLE * 1.1102230246251565e-16;
-- An integer in [0, sides).
create macro die(who, which, salt, sides) as (chance(who, which, salt) % sides)::INTEGER;
-- A whole number of 63 bits that stands for something: a cart, a device.
create macro mark(who, which, salt) as (chance(who, which, salt) >> 1)::BIGINT;

create macro money(cents) as (cents::DECIMAL(18,0) * 0.01::DECIMAL(3,2))::DECIMAL(18,2);

-- Operational time: hours of average business. demo_calendar.sql maps its slots (eighths of an hour) to clock
-- hours.
create macro slot_of(op_hours) as floor(op_hours * 8)::INTEGER;
create macro within_hour(from_at, span_ms, u) as from_at + to_milliseconds(floor(span_ms * u)::BIGINT);

-- Arrivals grow linearly: three times as many at the end as at the beginning.
create macro arrival_op(u) as getvariable('op_hours') * (sqrt(0.25e0 + 2 * u) - 0.5e0);

-- Names by which the store knows things.
create macro customer_id_of(n) as (7100000000000 + n)::VARCHAR;
create macro order_id_of(number) as (5400000000000 + number)::VARCHAR;
create macro token_of(key, salt) as lower(hex(hash(hash(getvariable('run'), key::BIGINT, salt))));
create macro anonymous_id_of(device) as token_of(device, 'device');
create macro first_name_of(n) as getvariable('first_names')[1 + die(n, 0, 'first name', 64)];
create macro last_name_of(n) as getvariable('last_names')[1 + die(n, 0, 'last name', 64)];
-- The domains are reserved for examples (RFC 2606): nobody receives a demo's mail.
create macro email_of(n) as case when roll(n, 0, 'email') >= 0.005 then
  lower(replace(strip_accents(first_name_of(n) || '.' || last_name_of(n)), '''', '')) || n
  || ['@example.com', '@example.org', '@example.net'][1 + die(n, 0, 'domain', 3)] end;

-- A step happens `gap` after the one before; steps between the first and the last vary by less than a gap.
create macro step_at(session, started_at, gap_ms, seq, last_seq) as started_at + to_milliseconds(
  seq::BIGINT * gap_ms
  + case when seq > 0 and seq < last_seq then die(session, seq, 'pause', gap_ms) else 0 end);
