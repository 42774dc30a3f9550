-- migrate:up

-- What happened before a campaign was turned on, or got the trigger that it has, starts nothing.
alter table campaign add column awaits_since timestamptz;
update campaign set awaits_since = activated_at;

-- migrate:down
