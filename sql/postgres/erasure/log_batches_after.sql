select received_at::text as received_at, batch_id, payload
from event_log
where (received_at, batch_id) > ($1::text::timestamptz, $2::uuid) and received_at <= $3
order by received_at, batch_id
limit $4
