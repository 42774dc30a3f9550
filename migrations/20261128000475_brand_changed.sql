-- migrate:up

-- When a tick last wrote rows of the brand.
alter table lake_brand add column changed_at timestamptz;

-- migrate:down
