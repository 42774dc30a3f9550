-- migrate:up transaction:false

-- And of a status.
create index concurrently if not exists conversation_status on conversation (brand_id, status, created_at desc, id desc);

-- migrate:down
