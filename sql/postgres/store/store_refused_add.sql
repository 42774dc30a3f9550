-- A record that a walk could not write, beside the dead webhooks; once for each of its versions.
insert into store_delivery (brand_id, webhook_id, topic, triggered_at, outcome, reason)
values ($1, $2, $3, $4, 'dead', $5)
on conflict do nothing
