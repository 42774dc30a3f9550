-- makes: demo_order, one row per order, numbered in the order of time, with its money in cents and its fate.
-- reads variables: starts_at, ends_at, op_hours.
create table demo_order as
with visits as (
  -- The k-th return comes after k cadences, give or take a third of one.
  select n, k::INTEGER as k,
    starts_op + cadence_op * (k + case when k > 0 then 0.7e0 * roll(n, k, 'jitter') - 0.35e0 else 0 end)
      as at_op
  from demo_customer, unnest(range(1 + comes_back)) as t(k)
  where buyer
),
bought as (
  select n, k, within_hour(from_at, span_ms, roll(n, k, 'minute')) as created_at, null::INTEGER as renews,
    null::BIGINT as renewal_cents
  from visits
  join demo_slot on slot = slot_of(at_op)
  where at_op < getvariable('op_hours')
  union all
  -- Counted from 1,000 on, so that no renewal shares the number of a visit.
  select n, (1000 + r)::INTEGER, billing_at(started_at, unit, count, r), pick, cents
  from demo_subscription, unnest(range(getvariable('op_hours') // 336 + 2)) as t(r)
  where billing_at(started_at, unit, count, r) <= least(stops_at, getvariable('ends_at'))
),
carts as (
  select n, k, created_at, renews, renewal_cents, mark(n, k, 'cart') as cart,
    case when renews is null then lines_of(mark(n, k, 'cart')) else 1 end as lines
  from bought
),
priced as (
  select *, coalesce(renewal_cents, cart_cents(n, cart, lines)) as subtotal,
    case when renews is not null then null
      when month(created_at) = 11 and day(created_at) >= 20 and roll(cart, 0, 'code') < 0.4 then 'BLACKFRIDAY20'
      when k = 0 and roll(cart, 0, 'code') < 0.25 then 'WELCOME10'
      when k > 0 and roll(cart, 0, 'code') < 0.1
        then ['THANKS15', 'FRIENDS10', 'COMEBACK20'][1 + die(cart, 0, 'which code', 3)]
    end as code
  from carts
),
fates as (
  select *, (subtotal * coalesce(right(code, 2)::INTEGER, 0) + 50) // 100 as discount,
    roll(cart, 0, 'fate') as fate,
    created_at + to_milliseconds((86400000 * (0.1e0 + 2 * roll(cart, 0, 'fate when')))::BIGINT) as cancelled_at,
    created_at + to_milliseconds((86400000 * (3 + 22 * roll(cart, 0, 'fate when')))::BIGINT) as refunded_at,
    created_at + to_milliseconds((86400000 * (0.5e0 + 3 * roll(cart, 0, 'sent when')))::BIGINT) as sent_at
  from priced
),
-- What would come after the end has not happened.
ends as (
  select *, case
      when fate < 0.015 and cancelled_at <= getvariable('ends_at') then 'cancelled'
      when fate between 0.015 and 0.04 and refunded_at <= getvariable('ends_at') then 'refunded'
      when fate between 0.04 and 0.085 and refunded_at <= getvariable('ends_at') then 'partially_refunded'
      when fate > 0.997 or fate > 0.8 and created_at > getvariable('ends_at') - interval 36 hours then 'pending'
      else 'paid' end as outcome
  from fates
)
select (1000 + row_number() over (order by created_at, n, k))::INTEGER as number,
  n, k, cart, lines::TINYINT as lines, renews::SMALLINT as renews, created_at, outcome, code,
  subtotal, discount,
  case outcome when 'refunded' then subtotal - discount
    when 'cancelled' then if(fate < 0.01, subtotal - discount, 0)
    when 'partially_refunded' then (subtotal - discount) * (15 + die(cart, 0, 'refund share', 70)) // 100
    else 0 end as refunded,
  case when outcome = 'cancelled' then cancelled_at end as cancelled_at,
  case when outcome in ('refunded', 'partially_refunded') then refunded_at
    when outcome = 'cancelled' then cancelled_at
    when outcome = 'paid' and sent_at <= getvariable('ends_at') then sent_at
    else created_at end as updated_at,
  roll(cart, 0, 'test') < 0.002 as test,
  -- A few are sold over the counter: nobody knows to whom.
  k between 1 and 999 and roll(cart, 0, 'counter') < 0.015 as counter
from ends
order by number;
