-- what: what each product brought in by what the lines of orders that count come to, before refunds, how many customers bought it, and how many of them again
-- grain: product_id
-- refresh: with the segments
-- from: orders
-- of: sales

-- Orders without a profile are sales too, of no customer.
with of_nobody as (
    select
        id,
        created_at,
        unnest(lines) as line
    from orders
    where counts
        and customer_id is null
),

sold as (
    select
        product_id,
        title,
        titled_at,
        quantity,
        order_count,
        customer_count,
        revenue,
        last_ordered_at
    from customer_products
    union all
    select
        line.product_id as product_id,
        arg_max(line.title, { 'at': created_at, 'title': line.title }) as title,
        max(created_at) filter (line.title is not null) as titled_at,
        coalesce(sum(line.quantity), 0)::bigint as quantity,
        count(distinct id)::integer as order_count,
        0 as customer_count,
        coalesce(sum(coalesce(line.total, line.price::decimal(38, 2) * line.quantity)), 0)::decimal(38, 2) as revenue,
        max(created_at) as last_ordered_at
    from of_nobody
    where line.product_id is not null
    group by line.product_id
),

summed as (
    select
        product_id,
        arg_max(title, { 'at': titled_at, 'title': title }) as title,
        sum(quantity)::bigint as quantity,
        sum(order_count)::bigint as order_count,
        sum(customer_count)::bigint as customer_count,
        count(*) filter (customer_count > 0 and order_count > 1) as repeat_customers,
        sum(revenue)::decimal(38, 2) as revenue,
        max(last_ordered_at) as last_ordered_at
    from sold
    group by product_id
)

select
    summed.product_id,
    coalesce(product.title, summed.title) as title,
    summed.quantity,
    summed.order_count,
    summed.customer_count,
    summed.revenue,
    round(coalesce(summed.repeat_customers / nullif(summed.customer_count, 0), 0), 4) as repeat_purchase_rate,
    summed.last_ordered_at
from summed
left join stg_products as product using (product_id)
