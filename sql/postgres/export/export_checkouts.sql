select
    brand_id, id as checkout_id, external_id, subject, state, currency_code, total, item_count, url,
    created_at at time zone 'UTC' as created_at, updated_at at time zone 'UTC' as updated_at,
    abandoned_at at time zone 'UTC' as abandoned_at, completed_at at time zone 'UTC' as completed_at, deleted
from checkout
where xid >= $1::text::xid8 and xid < $2::text::xid8
