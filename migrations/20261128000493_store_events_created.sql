-- migrate:up transaction:false

-- Only what is forgotten is looked for by its age, and the index of it has that.
drop index concurrently if exists store_event_created;

-- migrate:down
