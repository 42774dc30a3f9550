-- case: all tiers are there, also without customers
-- given rfm: customer, tier, order_count, ltv
values (1, 'Champions', 5, 100.00), (2, 'Champions', 7, 50.50), (3, 'Others', 1, 3.00)
-- expect rfm_tiers
values
    (1, 'Champions', 2, 12, 150.50),
    (2, 'Potential Loyalist', 0, 0, 0.00),
    (3, 'Loyal Customers', 0, 0, 0.00),
    (4, 'Promising', 0, 0, 0.00),
    (5, 'New Customers', 0, 0, 0.00),
    (6, 'Can''t Lose Them', 0, 0, 0.00),
    (7, 'At Risk', 0, 0, 0.00),
    (8, 'Need Attention', 0, 0, 0.00),
    (9, 'About To Sleep', 0, 0, 0.00),
    (10, 'Lost', 0, 0, 0.00),
    (11, 'Others', 1, 1, 3.00)
