-- The brand's median of the days between orders; null where it has none.
select max(brand_median_inter_order_days) as days from churn
