-- migrate:up transaction:false

-- A search for what is said often reads the newest messages first. Built while campaigns go on sending.
create index concurrently if not exists message_newest on message (brand_id, created_at desc, id desc)
where status <> 'queued';

-- migrate:down
