select
    brand_id, order_id, conversation_id, campaign_id, recovered, touch, touch_at at time zone 'UTC' as touch_at,
    ordered_at at time zone 'UTC' as ordered_at, amount, currency_code, deleted
from attribution
where xid >= $1::text::xid8 and xid < $2::text::xid8
