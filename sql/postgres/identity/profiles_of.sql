select
    coalesce(array_to_json(array_agg(subject)), '[]') as subject,
    coalesce(array_to_json(array_agg(store_customer_id)), '[]') as store_customer_id,
    coalesce(array_to_json(array_agg(profile_id)), '[]') as profile_id,
    coalesce(array_to_json(array_agg(email)), '[]') as email,
    coalesce(array_to_json(array_agg(phone)), '[]') as phone,
    coalesce(array_to_json(array_agg(email_by_record)), '[]') as email_by_record,
    coalesce(array_to_json(array_agg(phone_by_record)), '[]') as phone_by_record,
    coalesce(array_to_json(array_agg(provenance)), '[]') as provenance,
    coalesce(array_to_json(array_agg(floor(extract(epoch from created_at) * 1000)::bigint)), '[]') as created_ms,
    coalesce(array_to_json(array_agg(deleted)), '[]') as hidden
from customer
where brand_id = $1 and subject = any($2::integer[])
