select received_at::text as received_at, batch_id
from event_log
where batch_id = any($1::uuid[])
