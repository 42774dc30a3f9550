-- migrate:up transaction:false

-- Orders of nobody that still say who ordered. Each erasure looks among them, and reads past none that was erased: through
-- the index by subject it read all that were, which were more with each one. Built while the store goes on telling.
create index concurrently if not exists store_order_email_of_nobody on store_order (brand_id, lower(btrim(email)))
where subject is null and email is not null;

-- migrate:down
