-- migrate:up transaction:false

-- What campaigns start at is taken in its order, some at a time: without this each time read all that waited. Built while
-- events go on coming.
create index concurrently if not exists trigger_event_in_order on trigger_event (brand_id, occurred_at, event_id);

-- migrate:down
