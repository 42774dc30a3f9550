-- what: the five buckets of lifetime value, always all of them, with how many customers are in each and what they spent
-- grain: bucket
-- refresh: with the segments

-- Refunds can leave less than zero, which is in the first one.
with buckets as (
    select *
    from (
        values ('0-100', 0, 100), ('100-250', 100, 250), ('250-500', 250, 500), ('500-1000', 500, 1000), ('1000+', 1000, null)
    ) as bounds (bucket, at_least, less_than)
)

select
    buckets.bucket,
    buckets.at_least,
    buckets.less_than,
    count(ltv.customer) as customer_count,
    coalesce(sum(ltv.ltv), 0)::decimal(38, 2) as revenue
from buckets
left join ltv using (bucket)
group by buckets.bucket, buckets.at_least, buckets.less_than
