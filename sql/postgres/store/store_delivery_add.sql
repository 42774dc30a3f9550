-- Once: nothing where it was carried out before. One that was dead is what it is now.
insert into store_delivery (brand_id, webhook_id, topic, triggered_at, outcome, reason, payload)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (brand_id, webhook_id) do update
    set
        topic = excluded.topic,
        triggered_at = excluded.triggered_at,
        received_at = excluded.received_at,
        outcome = excluded.outcome,
        reason = excluded.reason,
        payload = excluded.payload
    where store_delivery.outcome = 'dead'
