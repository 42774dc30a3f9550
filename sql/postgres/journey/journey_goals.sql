-- Orders that followed conversations ($2), and of these only one ($3) when that is asked about.
select
    ordered_at as at, conversation_id, attribution.campaign_id, order_id,
    coalesce(store_order.number, store_order.external_id) as order_number, amount::text as amount,
    attribution.currency_code, touch, billing_status, recovered
from attribution
join store_order on store_order.brand_id = attribution.brand_id and store_order.id = order_id
where
    attribution.brand_id = $1
    and conversation_id = any($2::uuid[])
    and ($3::uuid is null or order_id = $3::uuid)
order by ordered_at, order_id
