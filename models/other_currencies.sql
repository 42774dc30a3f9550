-- what: what customers spent on complete orders in currencies other than the brand's, which no other sum counts
-- grain: currency_code
-- refresh: with the segments
-- of: sales

-- Counted as lifetime value is: customers with an order in the currency, less refunds of theirs in it that name none.
with ordering as (
    select
        currency_code,
        customer,
        count(*) as order_count,
        sum(net_total) as net_total
    from orders
    where state = 'complete'
        and not counts
        and customer_id is not null
    group by all
),

given_back as (
    select
        currency_code,
        customer,
        sum(total) as given_back
    from stg_refunds
    where order_external_id is null
    group by all
)

select
    currency_code,
    sum(ordering.order_count)::bigint as order_count,
    count(*) as customer_count,
    sum(ordering.net_total - coalesce(given_back.given_back, 0))::decimal(38, 2) as revenue
from ordering
left join given_back using (currency_code, customer)
where currency_code is not null
group by currency_code
