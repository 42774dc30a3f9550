-- what: the tiers of the RFM scores, always all of them, with how many customers are in each and what they spent
-- grain: tier
-- refresh: with the segments
-- of: sales
with tiers as (
    select *
    from (
        values
        (1, 'Champions'), (2, 'Potential Loyalist'), (3, 'Loyal Customers'), (4, 'Promising'), (5, 'New Customers'),
        (6, 'Can''t Lose Them'), (7, 'At Risk'), (8, 'Need Attention'), (9, 'About To Sleep'), (10, 'Lost'), (11, 'Others')
    ) as named (place, tier)
),

filled as (
    select
        tier,
        count(*) as customer_count,
        sum(order_count)::bigint as order_count,
        sum(ltv)::decimal(38, 2) as revenue
    from rfm
    group by tier
)

select
    tiers.place,
    -- How many customers have scores is the sum of these rows: nobody may be in a tier that is not among them.
    coalesce(
        tiers.tier,
        error(concat('rfm.sql has a tier that is not here: ', coalesce(filled.tier, 'NULL')))
    ) as tier,
    coalesce(filled.customer_count, 0) as customer_count,
    coalesce(filled.order_count, 0) as order_count,
    coalesce(filled.revenue, 0)::decimal(38, 2) as revenue
from tiers
full join filled using (tier)
