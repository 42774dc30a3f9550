-- Of somebody who was erased after it came: it is a repeat from now on, as those are that the erasure found.
insert into custom_delivery (brand_id, provider_id, event_id, definition_id)
values ($1, $2, erased_id($1, $3), $4)
on conflict do nothing
