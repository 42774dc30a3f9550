-- A later version of a record replaces an earlier one.
create table ready as
select * exclude (fault), (row_number() over (order by n) - 1) // getvariable('chunk_size') as chunk
from (
    select *
    from picked
    where n not in (select n from fault)
    qualify row_number() over (partition by external_id order by updated_at desc nulls last, n desc) = 1
)
