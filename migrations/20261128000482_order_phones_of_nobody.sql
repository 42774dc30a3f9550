-- migrate:up transaction:false

create index concurrently if not exists store_order_phone_of_nobody on store_order (brand_id, phone)
where subject is null and phone is not null;

-- migrate:down
