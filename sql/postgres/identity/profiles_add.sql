insert into customer (
    brand_id, subject, id, store_customer_id, profile_id, email, phone, provenance, created_at, updated_at, changed_at
)
select
    $1, subject, id, store_customer_id, profile_id, email, phone, provenance, to_timestamp(created_ms / 1000),
    to_timestamp(created_ms / 1000), now()
from unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::float8[])
    as given (subject, id, store_customer_id, profile_id, email, phone, provenance, created_ms)
