-- what: lifetime value of every customer with a completed order in the brand's currency, and its bucket
-- grain: customer
-- refresh: with the segments
-- by: customer
-- of: sales
-- plain: customer_id
select
    customer,
    customer_id,
    total_spend as ltv,
    orders_count as order_count,
    average_order_value as aov,
    last_order_at,
    -- A lower bound belongs to its bucket, an upper one to the next. Refunds can leave less than zero.
    case
        when total_spend < 100 then '0-100'
        when total_spend < 250 then '100-250'
        when total_spend < 500 then '250-500'
        when total_spend < 1000 then '500-1000'
        else '1000+'
    end as bucket
from customers
where orders_count > 0
