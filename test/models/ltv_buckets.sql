-- case: all five are there, with the customers of each and what they spent
-- given ltv: customer, ltv, bucket
values (1, -12.50, '0-100'), (2, 99.99, '0-100'), (3, 100.00, '100-250'), (4, 2500.00, '1000+')
-- expect ltv_buckets
values
    ('0-100', 0, 100, 2, 87.49),
    ('100-250', 100, 250, 1, 100.00),
    ('250-500', 250, 500, 0, 0.00),
    ('500-1000', 500, 1000, 0, 0.00),
    ('1000+', 1000, null, 1, 2500.00)
