-- One of them, unless it is gone, waits, or another one has it in hand. $3: now.
select event_id, event_type, subject, occurred_at, properties::text as properties
from trigger_event
where brand_id = $1 and event_id = $2 and due_at <= $3::timestamptz
for update skip locked
