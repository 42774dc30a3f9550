insert into campaign (brand_id, id, name, type, trigger_event, provider_id, created_by)
values ($1, $2, $3, $4, $5, $6, $7)
