select brand_id, looked_below::text, due_at::text, due_at <= now() as is_due
from attribution_behind
order by brand_id
