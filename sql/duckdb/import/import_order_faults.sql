-- What is wrong with an order as a whole, which is never imported without one of its lines.
insert into fault (n, field, value, reason)
select n, min_by(fault.field, pos), min_by(fault.value, pos), min_by(fault.reason, pos)
from line_read
where fault is not null and n not in (select n from fault)
group by n;

insert into fault (n, field, value, reason)
select n, 'line.id', any_value(id), 'is the id of another line of the order, too'
from (
    select n, id
    from line
    where id is not null
    qualify row_number() over (partition by external_id, id order by n, pos) > 1
)
where n not in (select n from fault)
group by n;

-- A line without an id has its place for one.
insert into fault (n, field, value, reason)
with placed as (
    select n, external_id, id, row_number() over (partition by external_id order by n, pos)::varchar as place
    from line
    where external_id in (select external_id from line group by external_id having count(id) between 1 and count(*) - 1)
)

select placed.n, 'line.id', any_value(placed.id), 'is the place of another line of the order, which has no id'
from placed
join placed as other using (external_id)
where placed.id = other.place and other.id is null and placed.n not in (select n from fault)
group by placed.n;

insert into fault (n, field, value, reason)
select n, 'line.total', null, 'is too large as quantity × price'
from line
where price is not null and not coalesce(total < 100000000000, false) and n not in (select n from fault)
group by n;

create table line_sum as
select
    external_id,
    min(n) as n,
    -- As JSON, about: an entry without its values has 110 bytes.
    sum(110 + coalesce(strlen(id), 0) + coalesce(strlen(product_id), 0) + coalesce(strlen(variant_id), 0) + coalesce(strlen(title), 0) + coalesce(strlen(sku), 0)) as bytes,
    count(*) as lines,
    count(*) = count(total) as is_priced,
    bool_or(is_totalled) as is_totalled,
    case when sum(total) < 100000000000 then sum(total)::decimal(18, 2) end as total
from line
group by external_id;

insert into fault (n, field, value, reason)
select n, 'lines', lines || ' lines', 'come to more than 2 MB'
from line_sum
where bytes > 2097152 and n not in (select n from fault);

insert into fault (n, field, value, reason)
select
    picked_order.n, 'total', null,
    case when line_sum.lines is null then 'is missing' when is_priced then 'is too large as the sum of the lines' else 'is missing, and not every line has a price' end
from (select external_id, min(n) as n from picked where external_id is not null group by external_id having count(total) = 0) picked_order
left join line_sum using (external_id)
where (line_sum.total is null or not is_priced) and picked_order.n not in (select n from fault);
