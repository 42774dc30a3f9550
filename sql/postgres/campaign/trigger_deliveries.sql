-- What deliveries of providers told of: the record, and the definition by which they were taken.
select provider_id, event_id, definition_id, custom_event_id
from custom_delivery
where brand_id = $1 and (provider_id, event_id) in (select * from unnest($2::uuid[], $3::text[]))
