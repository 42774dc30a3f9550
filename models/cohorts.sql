-- what: customers by the month of their first order that counts: how many ordered in each month since, and for how much
-- grain: cohort_month, month_number
-- refresh: with the segments
-- from: cadence
-- of: sales
with first_order as (
    select
        cadence.customer,
        date_trunc('month', cadence.first_order_day)::date as cohort_month
    from cadence
),

cohort as (
    select
        cohort_month,
        count(*) as customers
    from first_order
    group by cohort_month
),

-- What was given back without naming an order counts in its month, or in the first one when it was before that.
happened as (
    select
        customer,
        ordered_on as happened_on,
        true as is_order,
        net_total as revenue
    from orders
    where counts
    union all
    select
        customer,
        (timezone(params.timezone, timezone('UTC', created_at)))::date as happened_on,
        false as is_order,
        -total as revenue
    from stg_refunds
    inner join params using (currency_code)
    where order_external_id is null
),

counted as (
    select
        first_order.cohort_month,
        greatest(date_diff('month', first_order.cohort_month, happened.happened_on), 0) as month_number,
        count(distinct happened.customer) filter (happened.is_order) as active_customers,
        sum(happened.revenue) as revenue
    from happened
    inner join first_order using (customer)
    group by all
),

months as (
    select
        cohort.cohort_month,
        cohort.customers,
        unnest(
            generate_series(
                0,
                date_diff('month', cohort.cohort_month, (timezone(params.timezone, timezone('UTC', params.as_of)))::date)
            )
        ) as month_number
    from cohort, params
)

select
    months.cohort_month,
    months.month_number::integer as month_number,
    months.customers,
    coalesce(counted.active_customers, 0) as active_customers,
    round(coalesce(counted.active_customers, 0) / months.customers, 4) as retention,
    coalesce(counted.revenue, 0)::decimal(38, 2) as revenue
from months
left join counted using (cohort_month, month_number)
