-- migrate:up

-- When a server's event last said which email, phone and names are the customer's (milliseconds since 1970, by field): what
-- was said before, and comes later, replaces nothing.
alter table customer add column told_at jsonb not null default '{}';

-- migrate:down
