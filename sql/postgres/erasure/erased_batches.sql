select batch_id, array_agg(line order by line) as lines
from erased_line
where batch_id = any($1::uuid[])
group by batch_id
