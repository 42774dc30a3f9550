-- migrate:up transaction:false

-- The index of checkouts to abandon has all that are looked for.
drop index concurrently if exists checkout_open;

-- migrate:down
