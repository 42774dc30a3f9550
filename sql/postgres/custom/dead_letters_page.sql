-- The position is a text, since a date of the program knows no microseconds.
select id, provider_id, event_id, event_type, reason, attempts, received_at, failed_at, received_at::text as position
from dead_letter
where brand_id = $1 and resolved_at is null and (received_at, id) > ($2::text::timestamptz, $3::uuid)
order by received_at, id
limit $4
