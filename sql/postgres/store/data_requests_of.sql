select id, external_id, store_customer_id, email, phone, requested_at, answered_at
from data_request
where brand_id = $1
order by requested_at desc, id
