-- migrate:up

-- Of more profiles than say who somebody is: for good, though an erasure takes who was named with it.
alter table identifier add column shared boolean not null default false;

-- migrate:down
