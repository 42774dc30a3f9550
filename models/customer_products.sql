-- what: what each customer bought in orders that count, product by product, as the newest of these orders calls it; revenue is what its lines come to, before refunds
-- grain: customer, product_id
-- refresh: with the segments
-- from: orders
-- by: customer
-- of: sales

-- unnest stands in a select list: joined laterally it took ten times as long.
-- A product may stand in several lines of an order, of which the first one found counts the order. Among few lines it is
-- looked for, among 100,000 that would take minutes: the lines of long orders are sorted by product. Sorting those of all
-- took half as long again.
with placed as (
    select
        customer,
        created_at,
        case
            when len(lines) <= 100 then lines
            else list_select(lines, list_grade_up(list_transform(lines, lambda line: line.product_id)))
        end as lines
    from orders
    where counts
        and customer_id is not null
),

-- Columns, since what a lambda names is computed for each element again.
named as (
    select
        customer,
        created_at,
        lines,
        list_transform(lines, lambda line: line.product_id) as product_ids
    from placed
),

bought as (
    select
        customer,
        created_at,
        unnest(
            case
                when len(lines) <= 100 then list_transform(product_ids, lambda id, n: list_position(product_ids, id) = n)
                else list_transform(product_ids, lambda id, n: n = 1 or id is distinct from product_ids[n - 1])
            end
        ) as is_first,
        unnest(lines).product_id as product_id,
        unnest(lines).title as title,
        unnest(lines).quantity as quantity,
        unnest(lines).price as price,
        unnest(lines).total as total
    from named
)

select
    customer,
    product_id,
    arg_max(title, { 'at': created_at, 'title': title }) as title,
    max(created_at) filter (title is not null) as titled_at,
    coalesce(sum(quantity), 0)::bigint as quantity,
    count(*) filter (is_first)::integer as order_count,
    1 as customer_count,
    -- Within 13 digits, as what a customer spent; a store may send negative prices.
    greatest(
        least(coalesce(sum(coalesce(total, price::decimal(38, 2) * quantity)), 0), 9999999999999.99),
        -9999999999999.99
    )::decimal(18, 2) as revenue,
    case when order_count > 1 then 1.0 else 0.0 end::double as repeat_purchase_rate,
    max(created_at) as last_ordered_at
from bought
where product_id is not null
group by customer, product_id
