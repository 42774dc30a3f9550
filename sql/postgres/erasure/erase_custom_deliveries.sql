-- Their ids stay as hashes, by which repeats are told.
with theirs as (
    delete from custom_delivery
    where brand_id = $1 and contact_id = any(array(select erased_contacts($1, $2::integer[], $3::text[], $4::text[], $5)))
    returning provider_id, event_id, definition_id, received_at, custom_event_id
)

insert into custom_delivery (brand_id, provider_id, event_id, definition_id, received_at, custom_event_id)
select $1, provider_id, erased_id($1, event_id), definition_id, received_at, custom_event_id
from theirs
on conflict do nothing
