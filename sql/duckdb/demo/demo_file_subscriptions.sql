-- makes: the rows of subscriptions.parquet.
select (9300000000000 + n)::VARCHAR as external_id,
  customer_id_of(n) as customer_external_id,
  status,
  getvariable('pick_product_id')[1 + pick] as product_id,
  getvariable('pick_title')[1 + pick] as title,
  unit as interval_unit,
  count::INTEGER as interval_count,
  money(cents) as price,
  getvariable('currency') as currency_code,
  started_at,
  case when status = 'active' then list_filter(
    list_transform(range(getvariable('op_hours') // 336 + 2), lambda r: billing_at(started_at, unit, count, r)),
    lambda moment: moment > getvariable('ends_at'))[1] end as next_billing_at,
  case when status = 'cancelled' then stops_at end as cancelled_at
from demo_subscription
order by n;
