-- migrate:up transaction:false

-- What an erasure opens: few of a brand's events wait.
create index concurrently if not exists store_event_kept on store_event (brand_id, id) where content is not null;

-- migrate:down
