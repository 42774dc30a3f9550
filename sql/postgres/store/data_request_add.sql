insert into data_request (brand_id, id, external_id, store_customer_id, email, phone, requested_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (brand_id, external_id) do nothing
