-- migrate:up transaction:false

-- The index of redirects in order has them, too.
drop index concurrently if exists subject_redirect_customer;

-- migrate:down
