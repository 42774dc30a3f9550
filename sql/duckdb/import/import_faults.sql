-- Why rows are refused: one reason per row, the first that was found.
create table fault as
select n, fault.field as field, fault.value as value, fault.reason as reason
from picked
where fault is not null
