-- Why rows are refused: one reason per row, the first that was found. `blamed` is the row of the same order that is
-- at fault.
create table fault as
select n, fault.field as field, fault.value as value, fault.reason as reason, null::bigint as blamed
from picked
where fault is not null
