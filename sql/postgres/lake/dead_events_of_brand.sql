-- The position is a text, since a date of the program knows no microseconds.
select batch_id, line, reason, created_at, created_at::text as position
from dead_event
where brand_id = $1 and (created_at, batch_id, line) > ($2::text::timestamptz, $3::uuid, $4::integer)
order by created_at, batch_id, line
limit $5
