-- what: on which days customers ordered what counts, and the days between them
-- grain: customer
-- refresh: with the segments
-- from: orders
-- by: customer
-- of: sales
with ordered as (
    select
        customer,
        list_sort(list(distinct ordered_on)) as days
    from orders
    where counts
        and customer_id is not null
    group by customer
),

apart as (
    select
        customer,
        days,
        list_sort(list_transform(range(1, len(days)), lambda n: days[n + 1] - days[n])) as gaps
    from ordered
)

select
    customer,
    days[1] as first_order_day,
    days[-1] as last_order_day,
    len(days)::integer as order_days,
    gaps::integer[] as gaps,
    -- The middle one, or half way between the two in the middle.
    (gaps[(len(gaps) + 1) // 2] + gaps[len(gaps) // 2 + 1]) / 2 as median_inter_order_days
from apart
