select payload
from event_log
where received_at = $1::text::timestamptz and batch_id = $2
for update
