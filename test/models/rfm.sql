-- case: an edge is a quantile and one unit more; a score is one more than the edges reached, and recency's is reversed
-- params as_of='2025-01-31'
-- given cadence: customer, last_order_day
values (1, '2025-01-31'), (2, '2025-01-21'), (3, '2025-01-11'), (4, '2025-01-01'), (5, '2024-12-22'), (6, '2024-12-12')
-- given ltv: customer, customer_id, order_count, ltv
values
    (1, 'a', 12, 600.00),
    (2, 'b', 10, 500.00),
    (3, 'c', 8, 400.00),
    (4, 'd', 6, 300.00),
    (5, 'e', 4, 200.00),
    (6, 'f', 2, 100.00)
-- given customers: customer, last_order_at
values
    (1, '2025-01-31'), (2, '2025-01-21'), (3, '2025-01-11'), (4, '2025-01-01'), (5, '2024-12-22'), (6, '2024-12-12')
-- expect rfm: customer_id, recency_score, frequency_score, monetary_score, tier, recency_days, order_count, ltv
values
    ('a', 5, 5, 5, 'Champions', 0, 12, 600.00),
    ('b', 5, 4, 4, 'Potential Loyalist', 10, 10, 500.00),
    ('c', 4, 3, 3, 'Potential Loyalist', 20, 8, 400.00),
    ('d', 3, 2, 2, 'Loyal Customers', 30, 6, 300.00),
    ('e', 2, 1, 1, 'About To Sleep', 40, 4, 200.00),
    ('f', 1, 1, 1, 'Lost', 50, 2, 100.00)

-- case: equal customers have equal scores, below every edge
-- params as_of='2025-01-31'
-- given cadence: customer, last_order_day
values (1, '2025-01-01'), (2, '2025-01-01')
-- given ltv: customer, customer_id, order_count, ltv
values (1, 'a', 1, 10.00), (2, 'b', 1, 10.00)
-- given customers: customer, last_order_at
values (1, '2025-01-01'), (2, '2025-01-01')
-- expect rfm: customer_id, recency_score, frequency_score, monetary_score, tier
values ('a', 5, 1, 1, 'New Customers'), ('b', 5, 1, 1, 'New Customers')

-- case: a negative lifetime value has a score like any other
-- params as_of='2025-01-31'
-- given cadence: customer, last_order_day
values (1, '2025-01-01')
-- given ltv: customer, customer_id, order_count, ltv
values (1, 'a', 1, -10.00)
-- given customers: customer, last_order_at
values (1, '2025-01-01')
-- expect rfm: customer_id, monetary_score, ltv
values ('a', 1, -10.00)

-- case: a store without orders has no scores
-- expect rfm: customer
