create table line as
select
    n, external_id, pos, id, product_id, variant_id, title, sku, quantity,
    try_cast(coalesce(price, total / nullif(quantity, 0)) as decimal(18, 2)) as price,
    coalesce(total, try_cast(round(quantity * price::decimal(38, 6), 2) as decimal(18, 2))) as total
from (select * replace (coalesce(quantity, 1) as quantity) from line_read where fault is null)
