-- what: what complete orders brought in in currencies other than the brand's, which no other sum counts
-- grain: currency_code
-- refresh: with the segments
-- of: sales
with moved as (
    select
        currency_code,
        1 as order_count,
        case when customer_id is not null then customer end as customer,
        net_total as amount
    from orders
    where state = 'complete'
        and not counts
    union all
    select
        refund.currency_code,
        0 as order_count,
        null as customer,
        -refund.total as amount
    from stg_refunds as refund
    cross join params
    where refund.order_external_id is null
        and refund.currency_code is distinct from params.currency_code
)

select
    currency_code,
    sum(order_count)::bigint as order_count,
    count(distinct customer) as customer_count,
    sum(amount)::decimal(38, 2) as revenue
from moved
where currency_code is not null
group by currency_code
