insert into trigger_event (brand_id, event_id, event_type, subject, occurred_at, properties)
select brand_id, event_id, event_type, subject, occurred_at, properties::json
from unnest($1::uuid[], $2::text[], $3::text[], $4::integer[], $5::timestamptz[], $6::text[]) as given (
    brand_id, event_id, event_type, subject, occurred_at, properties
)
on conflict do nothing
