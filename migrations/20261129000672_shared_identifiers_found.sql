-- migrate:up transaction:false

create index concurrently if not exists identifier_shared on identifier (brand_id, kind, value) where shared;

-- migrate:down
