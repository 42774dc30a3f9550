-- migrate:up

-- The members of everyone may be newer than the customers of the base: a rule changed, and no customer.
alter table served_generation add column members_path text;

-- migrate:down
