-- migrate:up transaction:false

-- A brand's newest are listed without reading those of the others.
create index concurrently if not exists dead_event_of_brand on dead_event (brand_id, created_at, batch_id, line);

-- migrate:down
