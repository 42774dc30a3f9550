select
    brand_id, id as subscription_id, external_id, subject, status, product_id, title, interval_unit, interval_count, price,
    currency_code, started_at at time zone 'UTC' as started_at, next_billing_at at time zone 'UTC' as next_billing_at,
    cancelled_at at time zone 'UTC' as cancelled_at, updated_at at time zone 'UTC' as updated_at, deleted
from subscription
where xid >= $1::text::xid8 and xid < $2::text::xid8
