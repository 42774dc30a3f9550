-- Also lines of which nobody can tell whose they are.
select batch_id || ' ' || line as id, payload as body
from dead_event
where (brand_id = $1 or brand_id is null) and $2::timestamptz is not null
