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
)

select
    tiers.place,
    tiers.tier,
    count(rfm.customer) as customer_count,
    coalesce(sum(rfm.order_count), 0)::bigint as order_count,
    coalesce(sum(rfm.ltv), 0)::decimal(38, 2) as revenue
from tiers
left join rfm using (tier)
group by tiers.place, tiers.tier
