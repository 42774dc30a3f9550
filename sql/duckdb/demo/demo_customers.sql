-- makes: demo_customer, one row per store customer: when it arrives, whether and how often it buys, until
-- when it is around. Times ending in _op are operational hours since the beginning.
-- reads variables: customers, op_hours, ends_at.
create table demo_customer as
with habits as (
  select n::INTEGER as n,
    arrival_op(roll(n, 0, 'arrival')) as arrives_op,
    -- Days between orders: a decile by chance, evenly within it.
    die(n, 0, 'decile', 10) as decile,
    [12, 20, 27, 34, 42, 52, 63, 78, 100, 135, 210] as deciles,
    24 * (deciles[1 + decile] + (deciles[2 + decile] - deciles[1 + decile]) * roll(n, 0, 'cadence'))
      as cadence_op,
    -- Eight of twenty never order again; the most loyal twentieth does so up to two dozen times.
    ([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 11, 18][1 + die(n, 0, 'loyalty', 20)]
      * (0.7e0 + 0.6e0 * roll(n, 0, 'more')))::INTEGER as comes_back,
    roll(n, 0, 'buys') < 0.84 as buys,
    -- More than half buy on their first visit, the others within two weeks.
    24 * 14 * greatest(0, 2.2e0 * roll(n, 0, 'delay') - 1.2e0) as delay_op
  from range(getvariable('customers')) as t(n)
),
lives as (
  select *, buys and arrives_op + delay_op < getvariable('op_hours') as buyer
  from habits
),
spans as (
  select n, buyer, cadence_op, comes_back, arrives_op,
    case when buyer then arrives_op + delay_op else arrives_op end as starts_op,
    least(getvariable('op_hours'),
      case when buyer then arrives_op + delay_op + cadence_op * (comes_back + 0.8e0)
      else arrives_op + 24 * 60 * roll(n, 0, 'interest') end) as leaves_op
  from lives
)
-- A buyer is known to the store from the first order on, the others from their sign-up.
select spans.*, within_hour(from_at, span_ms, roll(n, 0, 'minute')) as created_at
from spans
join demo_slot on slot = slot_of(starts_op);
