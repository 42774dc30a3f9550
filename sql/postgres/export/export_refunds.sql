select
    brand_id, id as refund_id, external_id, order_external_id, subject, currency_code, total,
    created_at at time zone 'UTC' as created_at, deleted
from refund
where xid >= $1::text::xid8 and xid < $2::text::xid8
