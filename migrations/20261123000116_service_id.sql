-- migrate:up

-- Tells this service's lake folder from another one's.
alter table lake_state add column service_id uuid not null default gen_random_uuid();

-- migrate:down
