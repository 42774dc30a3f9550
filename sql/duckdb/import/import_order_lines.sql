create table line as
select
    n, external_id, pos, id, product_id, variant_id, title, sku, quantity,
    -- Apart: together they are doubles, and 1.005 is below its half as one. Halves are exact in whole cents.
    case
        when price is not null then try_cast(price as decimal(18, 2))
        else try_cast(round(total * 100 / nullif(quantity, 0)) / 100 as decimal(18, 2))
    end as price,
    coalesce(total, try_cast(round(quantity * price::decimal(38, 6), 2) as decimal(18, 2))) as total,
    total is not null as is_totalled
from (select * replace (coalesce(quantity, 1) as quantity) from line_read where fault is null)
