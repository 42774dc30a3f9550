select batch_id, array_agg(line order by line) as lines
from erased_line
group by batch_id
order by batch_id
limit $1
