-- migrate:up

-- Whether the service has the store send its webhooks (not where an operator does; of connections of before it is not
-- known), and the topics that the store refuses.
alter table store_connection
    add column subscribes boolean not null default false,
    add column refused_topics text[] not null default '{}';

-- migrate:down
