-- migrate:up

-- A pause stops a subscription and does not cancel it.
alter table subscription_revision add column paused boolean not null default false;

-- migrate:down
