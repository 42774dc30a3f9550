-- migrate:up

-- The place at which a store refused to go on, and the walk began anew.
alter table store_sync add column refused_position text;

-- migrate:down
