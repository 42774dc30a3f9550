-- Brands with events that campaigns wait for, the longest waiting first. $1: now, $2: at most so many.
select brand_id
from (
    select brand_id, min(due_at) as due_at
    from (select brand_id, due_at from trigger_event where due_at <= $1 order by due_at limit 5000) as due
    group by brand_id
) as brands
order by due_at, brand_id
limit $2
