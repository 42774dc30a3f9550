-- migrate:up transaction:false

-- Of a channel that is rare the newest are read first: without this a page walked all conversations of the brand. Built while
-- campaigns go on sending.
create index concurrently if not exists conversation_channel on conversation (brand_id, channel, created_at desc, id desc);

-- migrate:down
