-- migrate:up

-- Whether the service has the store send its webhooks (not where an operator does), and the topics that the store
-- refuses.
alter table store_connection
    add column subscribes boolean not null default true,
    add column refused_topics text[] not null default '{}';

-- migrate:down
