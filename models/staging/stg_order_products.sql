-- what: the different products of the orders in stg_orders; much faster to read than their lines
-- grain: order_id, product_id
-- refresh: at every read
-- from: stg_orders

select
    order_id,
    customer,
    created_at,
    unnest(product_ids) as product_id
from stg_orders
