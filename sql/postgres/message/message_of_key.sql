select id from message where brand_id = $1 and idempotency_key in ($2, erased_id($1, $2))
