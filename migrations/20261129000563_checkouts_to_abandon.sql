-- migrate:up transaction:false

-- The index of filled checkouts to abandon has all that are looked for.
drop index concurrently if exists checkout_to_abandon;

-- migrate:down
