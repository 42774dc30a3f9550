-- what: scores of recency, frequency and money spent by the brand's own quantiles, and the tier that they make
-- grain: customer
-- refresh: with the segments
-- from: cadence
-- of: sales
-- plain: customer_id

-- All in whole numbers: days, orders, cents. A value between two customers' has fifths, so edges are five times theirs.
with today as (
    select (timezone(params.timezone, timezone('UTC', params.as_of)))::date as day
    from params
),

measured as (
    select
        ltv.customer,
        ltv.customer_id,
        today.day - cadence.last_order_day as recency_days,
        ltv.order_count,
        (ltv.ltv * 100)::bigint as cents,
        ltv.ltv
    from ltv
    inner join cadence using (customer)
    cross join today
),

sorted as (
    select
        count(*) as customers,
        list_sort(list(recency_days)) as recency,
        list_sort(list(order_count::bigint)) as frequency,
        list_sort(list(cents)) as monetary
    from measured
),

-- Between which two customers the quantiles of 20, 40, 60 and 80 % lie, and how many fifths of the way.
places as (
    select
        fifth,
        1 + (customers - 1) * fifth // 5 as place,
        (customers - 1) * fifth % 5 as beyond
    from sorted, range(1, 5) as fifths (fifth)
),

edges as (
    select
        list(5 * recency[place] + beyond * coalesce(recency[place + 1] - recency[place], 0) + 5) as recency,
        list(5 * frequency[place] + beyond * coalesce(frequency[place + 1] - frequency[place], 0) + 5) as frequency,
        list(5 * monetary[place] + beyond * coalesce(monetary[place + 1] - monetary[place], 0) + 500) as monetary
    from places, sorted
),

scored as (
    select
        measured.customer,
        measured.customer_id,
        5 - len(list_filter(edges.recency, lambda edge: edge <= 5 * measured.recency_days)) as r,
        1 + len(list_filter(edges.frequency, lambda edge: edge <= 5 * measured.order_count)) as f,
        1 + len(list_filter(edges.monetary, lambda edge: edge <= 5 * measured.cents)) as m,
        measured.recency_days,
        measured.order_count,
        measured.ltv
    from measured, edges
)

select
    scored.customer,
    scored.customer_id,
    scored.r::integer as recency_score,
    scored.f::integer as frequency_score,
    scored.m::integer as monetary_score,
    case
        when r = 5 and f = 5 and m = 5 then 'Champions'
        when r >= 3 and f >= 3 and m >= 2 then 'Potential Loyalist'
        when r between 2 and 4 and f between 2 and 4 and m between 2 and 4 then 'Loyal Customers'
        when r between 3 and 4 and f <= 3 and m >= 3 then 'Promising'
        when r >= 4 and f <= 3 then 'New Customers'
        when r <= 2 and f between 3 and 4 and m >= 4 then 'Can''t Lose Them'
        when r <= 2 and f >= 2 and m >= 4 then 'At Risk'
        when r <= 3 and f >= 3 and m >= 3 then 'Need Attention'
        when r between 2 and 3 and f <= 3 then 'About To Sleep'
        when r = 1 then 'Lost'
        else 'Others'
    end as tier,
    scored.recency_days::integer as recency_days,
    customers.last_order_at,
    scored.order_count,
    scored.ltv
from scored
inner join customers using (customer)
order by scored.customer
