-- Waits for a delivery of the same id that is under way. Nothing when that one, or an earlier one, was accepted.
insert into custom_delivery (brand_id, provider_id, event_id, definition_id)
values ($1, $2, $3, $4)
on conflict do nothing
