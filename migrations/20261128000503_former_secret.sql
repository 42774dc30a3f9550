-- migrate:up

-- A secret that was replaced may go on being taken for a while beside the new one, so that its senders can change over.
alter table provider
add column former_secret bytea,
add column former_until timestamptz;

-- migrate:down
