-- case: gaps lie between distinct days of orders that count
-- given orders: customer, customer_id, counts, ordered_on
values
    (1, 'a', true, '2025-01-01'),
    (1, 'a', true, '2025-01-11'),
    (1, 'a', true, '2025-01-11'),
    (1, 'a', false, '2025-01-12'),
    (1, 'a', true, '2025-01-14'),
    (1, 'a', true, '2025-02-14'),
    (2, 'b', true, '2025-01-01'),
    (3, 'c', false, '2025-01-01'),
    (4, null, true, '2025-01-01'),
    (null, null, true, '2025-01-01')
-- expect cadence
values
    (1, '2025-01-01', '2025-02-14', 4, [3, 10, 31], 10.0),
    (2, '2025-01-01', '2025-01-01', 1, []::integer[], null)

-- case: the median of two gaps lies half way between them
-- given orders: customer, customer_id, counts, ordered_on
values (1, 'a', true, '2025-01-01'), (1, 'a', true, '2025-01-02'), (1, 'a', true, '2025-01-07')
-- expect cadence: customer, gaps, median_inter_order_days
values (1, [1, 5], 3.0)
