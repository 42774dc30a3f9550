insert into erased_line (batch_id, line)
select batch_id, line
from unnest($1::uuid[], $2::integer[]) as erased (batch_id, line)
on conflict do nothing
