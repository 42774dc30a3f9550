select
    brand_id,
    looked_below::text,
    round_below::text,
    done_to,
    due_at::text,
    due_at <= now() as is_due
from attribution_behind
order by brand_id
