select batch_id, line, reason, created_at
from dead_event
where brand_id = $1 and (created_at, batch_id, line) > ($2::timestamptz, $3::uuid, $4::integer)
order by created_at, batch_id, line
limit $5
