-- makes: demo_hour (clock hours with their weight) and demo_slot (operational time → clock hour). Customers
-- keep their cadence in operational time, where every hour is worth the same; mapping its slots to clock
-- hours by weight gives all activity the rhythm of day, week and year.
-- reads variables: starts_at, ends_at, op_hours.
create table demo_hour as
with clock as (
  select
    greatest(hour_at, getvariable('starts_at')) as from_at,
    least(hour_at + interval 1 hour, getvariable('ends_at')) as until_at
  from generate_series(date_trunc('hour', getvariable('starts_at')), getvariable('ends_at'), interval 1 hour)
    as t(hour_at)
),
weighed as (
  select
    from_at,
    date_diff('millisecond', from_at, until_at) as span_ms,
    [20, 12, 8, 6, 6, 10, 25, 50, 75, 90, 100, 105, 115, 110, 100, 100, 105, 115, 135, 170, 200, 190, 130, 65][
      1 + hour(from_at)::INTEGER]
    * [97, 92, 90, 93, 100, 118, 128][isodow(from_at)::INTEGER]
    * case
        when month(from_at) = 11 and day(from_at) >= 20 then 230
        when month(from_at) = 11 then 140
        when month(from_at) = 12 and day(from_at) <= 20 then 190
        when month(from_at) in (12, 1, 7, 8) then 82
        else 100
      end as rate
  from clock
  where from_at < until_at
)
-- Integers, so that the running sum is exact whatever the order of addition.
select from_at, span_ms, rate::BIGINT * span_ms // 100000000 as weight,
  (sum(rate::BIGINT * span_ms // 100000000) over (order by from_at rows unbounded preceding))::BIGINT
    as until_weight
from weighed;

create table demo_slot as
with total as (select max(until_weight) as weight from demo_hour),
slots as (
  select s::INTEGER as slot, (2 * s + 1) * total.weight // (16 * getvariable('op_hours')) as place
  from range(8 * getvariable('op_hours')) as t(s), total
)
select slot, from_at, span_ms
from slots
asof join (select from_at, span_ms, until_weight - weight as from_weight from demo_hour) as hours
  on slots.place >= hours.from_weight;
