-- migrate:up transaction:false

-- Each erasure takes the checkouts of whom it erases: without this it read all of the brand. Built while checkouts come and go.
create index concurrently if not exists checkout_subject on checkout (brand_id, subject) where subject is not null;

-- migrate:down
