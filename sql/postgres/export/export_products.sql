select brand_id, id as product_id, title, status, variants, images, updated_at at time zone 'UTC' as updated_at, deleted
from product
where xid >= $1::text::xid8 and xid < $2::text::xid8
