-- One row per line: the line fields of a row are a line, unless they are all empty.
create view line_read as
select
    n, external_id, 0 as pos, "line.id" as id, "line.product_id" as product_id, "line.variant_id" as variant_id,
    "line.title" as title, "line.sku" as sku, "line.quantity" as quantity, "line.price" as price, "line.total" as total,
    fault
from picked
where coalesce(
    "line.id", "line.product_id", "line.variant_id", "line.title", "line.sku", "line.quantity"::varchar,
    "line.price"::varchar, "line.total"::varchar
) is not null
