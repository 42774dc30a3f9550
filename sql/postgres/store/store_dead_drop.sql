-- Of what could not be read the newest bodies stay, as many as come to $2 bytes and $3 webhooks; older rows say so ($4).
with counted as (
    select
        webhook_id,
        sum(octet_length(payload)) over newest_first as bytes,
        row_number() over newest_first as place
    from store_delivery
    where brand_id = $1 and payload is not null
    window newest_first as (order by received_at desc, webhook_id desc)
),

beyond as (
    select webhook_id
    from store_delivery
    where
        brand_id = $1
        and payload is not null
        and webhook_id in (select webhook_id from counted where bytes > $2 or place > $3)
    -- One that somebody replays may go the next time.
    for update skip locked
)

update store_delivery
set payload = null, reason = reason || $4::text
from beyond
where store_delivery.brand_id = $1 and store_delivery.webhook_id = beyond.webhook_id
