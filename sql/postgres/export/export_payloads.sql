select batch_id, payload
from event_log
where (received_at, batch_id) in (select * from unnest($1::timestamptz[], $2::uuid[]))
