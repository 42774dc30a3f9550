-- migrate:up

-- When the service last learned something of a customer that no record says; the time of a record that comes later takes
-- its place. Of those who are here already it is not known.
alter table customer add column changed_at timestamptz;

-- migrate:down
