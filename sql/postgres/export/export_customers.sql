select
    brand_id, subject, id as customer_id, store_customer_id, email, phone, first_name, last_name,
    to_json(tags) as tags, provenance, created_at at time zone 'UTC' as created_at,
    greatest(updated_at, changed_at) at time zone 'UTC' as updated_at, deleted
from customer
where xid >= $1::text::xid8 and xid < $2::text::xid8
