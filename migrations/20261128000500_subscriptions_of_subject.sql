-- migrate:up transaction:false

-- As of checkouts.
create index concurrently if not exists subscription_subject on subscription (brand_id, subject) where subject is not null;

-- migrate:down
