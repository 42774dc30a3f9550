-- migrate:up

-- An opt-out by the link was taken back on its page, and none was asked for there since: opening it asks first.
alter table short_link add column taken_back boolean not null default false;

-- migrate:down
