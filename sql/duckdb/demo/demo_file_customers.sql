-- makes: the rows of customers.parquet.
select customer_id_of(n) as external_id,
  email_of(n) as email,
  case when roll(n, 0, 'phone') < 0.7 and n // len(getvariable('area_codes')) < 9900 then
    '+1' || getvariable('area_codes')[1 + n % len(getvariable('area_codes'))] || '555'
    || lpad((100 + n // len(getvariable('area_codes')))::VARCHAR, 4, '0') end as phone,
  first_name_of(n) as first_name,
  last_name_of(n) as last_name,
  list_filter([
    if(buyer and comes_back >= 6, 'vip', null),
    if(roll(n, 0, 'newsletter') < 0.45 or not buyer, 'newsletter', null),
    if(roll(n, 0, 'wholesale') < 0.01, 'wholesale', null),
    if(buyer and roll(n, 0, 'subscribes') < 0.07, 'subscriber', null)], lambda tag: tag is not null) as tags,
  created_at
from demo_customer
order by n;
