-- makes: demo_session, one row per visit: who, on which device, along which path, with which cart.
-- actor: customers from 0 up, visitors who never say who they are from -1 down.
-- session: unique; its highest digit says by which of the selects below it was made.
-- The wanted number of events decides which share of the orders left a trace in the browser, how often
-- customers only look around, and how many visitors there are.
-- reads variables: customers, wanted_events, starts_at, ends_at, op_hours, line_counts.
set variable tracked = (
  select least(0.85e0, 0.5e0 * getvariable('wanted_events') / greatest(1, count(*) * mean_steps('buyers')))
  from demo_order where renews is null and not counter and not test);
set variable left_over = (
  select greatest(0, getvariable('wanted_events') - 2 * (select count(*) from demo_customer where not buyer)
    - getvariable('tracked') * mean_steps('buyers') * count(*))
  from demo_order where renews is null and not counter and not test);
set variable browsing = 0.6e0 * getvariable('left_over') / getvariable('customers') / mean_steps('browsers');
set variable visitors = (0.4e0 * getvariable('left_over') / 1.4e0 / mean_steps('visitors'))::BIGINT;

create table demo_session as
with tracked as (
  -- Every twelfth tracked order completes a checkout that was left some hours before, which must not be
  -- before the beginning.
  select *, roll(cart, 0, 'recovered') < 0.08 and created_at > getvariable('starts_at') + interval 2 days
    as recovered
  from demo_order
  where renews is null and not counter and not test and roll(cart, 0, 'tracked') < getvariable('tracked')
),
bought as (
  select number::BIGINT as session, n::BIGINT as actor, case when recovered then 24 else path end as path,
    lines, cart, number, created_at as done_at, null::TIMESTAMP as from_at,
    subtotal as cart_total, subtotal - discount as total, code,
    number + case when recovered then 1000000000000000 else 0 end as checkout
  from tracked
  join demo_ticket on audience = 'buyers' and ticket = die(cart, 0, 'path', 100)
),
given_up as (
  select 1000000000000000 + number, n, 23, lines, cart, null, null,
    created_at - to_milliseconds((3600000 * (3 + 37 * roll(cart, 0, 'pause')))::BIGINT),
    subtotal, subtotal, null, 1000000000000000 + number
  from tracked
  where recovered
),
looks as (
  select 2000000000000000 + n as session, n::BIGINT as actor, 0 as i, 'join' as audience, starts_op as at_op,
    created_at as from_at
  from demo_customer
  where not buyer
  union all
  -- The most curious fifth does more than half of the looking.
  select 3000000000000000 + n::BIGINT * 10000 + i, n, i, 'browsers',
    arrives_op + (leaves_op - arrives_op) * roll(n, i, 'look'), null
  from demo_customer, unnest(range(least(10000, floor(getvariable('browsing')
    * [0.1e0, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.2, 1.9, 3.8][1 + die(n, 0, 'curiosity', 10)]
    + roll(n, 0, 'looks')))::BIGINT)) as t(i)
  union all
  select 4000000000000000 + v * 10 + i, -1 - v, i, 'visitors',
    arrival_op(roll(v, 0, 'visit')) + case when i > 0 then 24 * 30 * roll(v, i, 'visit again') else 0 end, null
  from range(getvariable('visitors')) as t(v),
    unnest(range(1 + [0, 0, 0, 0, 0, 0, 0, 1, 1, 2][1 + die(v, 0, 'visits', 10)])) as u(i)
),
browsed as (
  select session, actor, coalesce(path, 30) as path, lines_of(session) as lines, session as cart,
    null as number, null as done_at,
    coalesce(looks.from_at, within_hour(demo_slot.from_at, span_ms, roll(session, 0, 'minute'))) as from_at
  from looks
  join demo_slot on slot = slot_of(at_op)
  left join demo_ticket on demo_ticket.audience = looks.audience and ticket = die(session, 0, 'path', 100)
  where at_op < getvariable('op_hours')
),
valued as (
  select browsed.*, case when has_cart then cart_cents(actor, cart, lines) end as cart_total
  from browsed
  join demo_way using (path, lines)
),
together as (
  select * from bought
  union all select * from given_up
  union all select *, cart_total, null, session from valued
)
select session, actor, path::UTINYINT as path, lines::TINYINT as lines, cart, number::INTEGER as number,
  cart_total, total, code, checkout,
  6000 + die(session, 0, 'gap', 44000) as gap_ms,
  coalesce(together.from_at, done_at - to_milliseconds(last_seq::BIGINT * gap_ms)) as started_at,
  -- Most people keep to one device, some use two or three; visitors have one.
  mark(actor, case when actor >= 0
    then die(session, 0, 'device', [1, 1, 1, 1, 1, 1, 2, 2, 2, 3][1 + die(actor, 0, 'devices', 10)])
    else 0 end, 'device') as device,
  coalesce(demo_customer.created_at < coalesce(together.from_at, done_at)
    and roll(session, 0, 'signed in') < 0.4, false) as signed_in
from together
join demo_way using (path, lines)
left join demo_customer on n = actor;
