select
    brand_id, id as order_id, external_id, number, subject, state, billing_status, currency_code, subtotal, discount_total,
    total, refunded_total, to_json(discount_codes) as discount_codes, lines, test, created_at at time zone 'UTC' as created_at,
    updated_at at time zone 'UTC' as updated_at, cancelled_at at time zone 'UTC' as cancelled_at,
    recovered_at at time zone 'UTC' as recovered_at, deleted
from store_order
where xid >= $1::text::xid8 and xid < $2::text::xid8
