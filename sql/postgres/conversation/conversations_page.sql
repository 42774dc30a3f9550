-- The newest conversations behind a place ($2, $3); $4 to $7: of a status, channel, campaign or contact, each null for any.
select
    id, contact_id, campaign_id, status, channel, goal_until, last_message_at, created_at, updated_at, checkout_id,
    checkout_state, checkout_total, checkout_currency_code, checkout_url, order_id, recovered_amount, recovered_currency_code,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at_exact
from conversation_shown
where
    brand_id = $1
    and ($2::timestamptz is null or (created_at, id) < ($2::timestamptz, $3::uuid))
    and ($4::text is null or status = $4)
    and ($5::text is null or channel = $5)
    and ($6::uuid is null or campaign_id = $6)
    and ($7::uuid is null or contact_id = $7)
order by created_at desc, id desc
limit $8
