-- Waits for a delivery of the same id that is under way. Nothing when that one, or an earlier one, was accepted.
insert into custom_delivery (brand_id, provider_id, event_id, definition_id)
select $1, $2, $3, $4
where not exists (
    select from custom_delivery where brand_id = $1 and provider_id = $2 and event_id = erased_id($1, $3)
)
on conflict do nothing
