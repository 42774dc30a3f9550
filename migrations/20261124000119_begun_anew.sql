-- migrate:up

-- When a walk that is not finished began anew, since the store refused its place. Places cannot be compared: in the order of
-- changes they shift with every change.
alter table store_sync
    drop column refused_position,
    add column began_anew_at timestamptz;

-- migrate:down
