select provider_id, event_id, custom_event_id
from custom_delivery
where
    brand_id = $1
    and (provider_id, event_id) in (select * from unnest($2::uuid[], $3::text[]))
    and custom_event_id is not null
