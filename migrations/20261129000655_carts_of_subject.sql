-- migrate:up transaction:false

-- An erasure takes out the carts of its people: without this it read all carts of the brand. Built while events go on naming
-- people.
create index concurrently if not exists store_cart_subject on store_cart (brand_id, subject);

-- migrate:down
