-- migrate:up

-- When a reconcile was last begun, whether or not the store answered: those that waited longest come first.
alter table store_connection add column reconcile_began_at timestamptz;

-- migrate:down
