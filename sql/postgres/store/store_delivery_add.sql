insert into store_delivery (brand_id, webhook_id, topic, triggered_at, outcome, reason, payload)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict do nothing
