select id from message where brand_id = $1 and idempotency_key = $2
