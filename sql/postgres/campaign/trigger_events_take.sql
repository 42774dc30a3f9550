-- In the order in which they happened. $2: now, $3: at most so many.
select event_id, event_type, subject, occurred_at, properties::text as properties
from trigger_event
where brand_id = $1 and due_at <= $2::timestamptz
order by occurred_at, event_id
limit $3
for update skip locked
