-- what: the five buckets of lifetime value, always all of them, with how many customers are in each and what they spent
-- grain: bucket
-- refresh: with the segments
-- of: sales

-- Refunds can leave less than zero, which is in the first one.
with buckets as (
    select *
    from (
        values ('0-100', 0, 100), ('100-250', 100, 250), ('250-500', 250, 500), ('500-1000', 500, 1000), ('1000+', 1000, null)
    ) as bounds (bucket, at_least, less_than)
),

filled as (
    select bucket, count(*) as customer_count, sum(ltv)::decimal(38, 2) as revenue
    from ltv
    group by bucket
)

select
    -- Totals of all customers are those of these rows: nobody may be in a bucket that is not among them.
    coalesce(
        buckets.bucket,
        error(concat('ltv.sql has a bucket that is not here: ', coalesce(filled.bucket, 'NULL')))
    ) as bucket,
    buckets.at_least,
    buckets.less_than,
    coalesce(filled.customer_count, 0) as customer_count,
    coalesce(filled.revenue, 0)::decimal(38, 2) as revenue
from buckets
full join filled using (bucket)
