-- Rows of one external id are one refund of the sum of their totals.
create table ready as
select *, (row_number() over (order by n) - 1) // getvariable('chunk_size') as chunk
from (
    select
        min(n) as n,
        external_id,
        arg_min(order_external_id, n) as order_external_id,
        arg_min(customer_external_id, n) as customer_external_id,
        arg_min(email, n) as email,
        arg_min(phone, n) as phone,
        coalesce(arg_min(currency_code, n), getvariable('currency_code')) as currency_code,
        sum(total)::decimal(18, 2) as total,
        min(created_at) as created_at
    from picked
    where n not in (select n from fault)
    group by external_id
)
