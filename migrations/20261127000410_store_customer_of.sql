-- migrate:up

-- Each webhook that names a customer of the store asks whether the store removed them: of a million customers it read all.
create index customer_store_customer on customer (brand_id, store_customer_id) where store_customer_id is not null;

-- migrate:down
