-- Unless it was carried out or came again ($4 is its position) since it was read.
update store_delivery
set outcome = $3, reason = null, payload = null
where
    brand_id = $1
    and webhook_id = $2
    and outcome = 'dead'
    and received_at = $4::text::timestamptz
