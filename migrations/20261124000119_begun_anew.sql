-- migrate:up

-- When a walk that is not finished began anew, since the store refused its place. Places cannot be compared: in the order of
-- changes they shift with every change. refused_position, which said so before, goes with the next version: during an
-- upgrade processes of the one before ask for it.
alter table store_sync add column began_anew_at timestamptz;

-- migrate:down
