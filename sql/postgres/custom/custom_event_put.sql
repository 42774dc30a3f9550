insert into custom_event (brand_id, id, provider_id, definition_id, external_id, contact_id, event_id, data)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::json)
on conflict (brand_id, definition_id, external_id) do update
set
    contact_id = excluded.contact_id,
    event_id = excluded.event_id,
    data = excluded.data,
    deliveries = custom_event.deliveries + 1,
    updated_at = now()
returning id, owner_to_tell($1, $6) as store_customer_id
