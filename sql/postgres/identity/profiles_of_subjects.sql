select coalesce(json_agg(json_build_array(
    subject, store_customer_id, email, phone, provenance, floor(extract(epoch from created_at) * 1000)::bigint
)), '[]') as profiles
from customer
where brand_id = $1 and subject = any($2::integer[])
