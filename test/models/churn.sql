-- case: the cadence is the median of a customer's own gaps, else the brand's; days are counted to as_of
-- params as_of='2025-07-01 12:00'
-- given ltv: customer, customer_id, ltv, order_count, last_order_at
values
    (1, 'a', 10.00, 4, '2025-06-20 09:00'),
    (2, 'b', -2.50, 3, '2025-05-01 10:00'),
    (3, 'c', 0.00, 1, '2025-06-01 11:00')
-- given cadence: customer, last_order_day, gaps, median_inter_order_days
values
    (1, '2025-06-20', [10, 20, 40], 20.0),
    (2, '2025-05-01', [5, 5], 5.0),
    (3, '2025-06-01', [], null)
-- expect churn
values
    (1, 'a', 11, 20.0, 10.0, 0.55, false, 10.00, 4, '2025-06-20 09:00'),
    (2, 'b', 61, 5.0, 10.0, 9.99, true, -2.50, 3, '2025-05-01 10:00'),
    (3, 'c', 30, null, 10.0, 3.0, true, 0.00, 1, '2025-06-01 11:00')

-- case: twice the cadence is not yet at risk, a day more is
-- params as_of='2025-07-01'
-- given ltv: customer, customer_id
values (1, 'a'), (2, 'b')
-- given cadence: customer, last_order_day, gaps, median_inter_order_days
values (1, '2025-06-11', [10], 10.0), (2, '2025-06-10', [10], 10.0)
-- expect churn: customer, at_risk_score, at_risk
values (1, 2.0, false), (2, 2.1, true)

-- case: where nobody ordered twice there is no cadence, no score and no risk
-- params as_of='2025-07-01'
-- given ltv: customer, customer_id, ltv, order_count, last_order_at
values (1, 'a', 1.00, 1, '2024-07-01 12:00')
-- given cadence: customer, last_order_day, gaps, median_inter_order_days
values (1, '2024-07-01', [], null)
-- expect churn
values (1, 'a', 365, null, null, null, false, 1.00, 1, '2024-07-01 12:00')

-- case: days end at midnight of the brand
-- params as_of='2025-07-01 02:00' timezone='America/New_York'
-- given ltv: customer, customer_id
values (1, 'a')
-- given cadence: customer, last_order_day, gaps, median_inter_order_days
values (1, '2025-06-29', [1], 1.0)
-- expect churn: customer, days_since_last_order
values (1, 1)

-- case: a store without orders has nobody at risk
-- expect churn: customer
