-- makes: the rows of orders.parquet, by number.
select order_id_of(number) as external_id,
  '#' || number as number,
  case when not counter then customer_id_of(n) end as customer_external_id,
  case when not counter then email_of(n) end as email,
  created_at,
  updated_at,
  case outcome when 'paid' then 'complete' when 'partially_refunded' then 'complete' else outcome end as state,
  case when outcome = 'cancelled' then if(refunded > 0, 'refunded', 'voided') else outcome end
    as billing_status,
  getvariable('currency') as currency_code,
  money(subtotal) as subtotal,
  money(discount) as discount_total,
  money(subtotal - discount) as total,
  money(refunded) as refunded_total,
  if(code is null, []::VARCHAR[], [code]) as discount_codes,
  order_lines(number, n, cart, lines, renews, subtotal) as lines,
  cancelled_at,
  test
from demo_order
order by demo_order.number;
