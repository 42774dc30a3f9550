-- makes: demo_subscription, one row per contract: what, how often, when it began and how it ended.
-- reads variables: ends_at, subscribable.
create macro billing_at(started_at, unit, count, r) as
  started_at + case when unit = 'month' then to_months((r * count)::INTEGER)
    else to_days((r * count * 7)::INTEGER) end;

create table demo_subscription as
with begun as (
  select n, getvariable('subscribable')[1 + die(n, 0, 'subscription', len(getvariable('subscribable')))]
    as pick,
    created_at + to_milliseconds((roll(n, 0, 'subscribes') / 0.07e0 * 45 * 86400000)::BIGINT) as started_at,
    -- One in ten every two weeks, one every four; then monthly, every two months, every three.
    if(die(n, 0, 'unit', 10) < 2, 'week', 'month') as unit,
    [2, 4, 1, 1, 1, 1, 1, 1, 2, 3][1 + die(n, 0, 'unit', 10)] as count,
    [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60][1 + die(n, 0, 'periods', 16)] as periods
  from demo_customer
  where buyer and roll(n, 0, 'subscribes') < 0.07
),
lasting as (
  -- Whoever stops does so some days before the next billing.
  select *, billing_at(started_at, unit, count, periods) - to_days(1 + die(n, 0, 'notice', 6)) as stops_at
  from begun
  where started_at < getvariable('ends_at')
)
select n, pick, unit, count, started_at, stops_at,
  (getvariable('pick_cents')[1 + pick] * 9 // 100 * 10)::BIGINT as cents,
  case when stops_at > getvariable('ends_at') then 'active'
    when roll(n, 0, 'end') < 0.8 then 'cancelled'
    when roll(n, 0, 'end') < 0.9 then 'paused'
    when roll(n, 0, 'end') < 0.96 then 'failed'
    else 'expired' end as status
from lasting;
