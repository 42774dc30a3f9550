-- migrate:up

-- The store says that nothing is in it and nothing to pay; of one that a file told of that is not known.
alter table checkout add column empty boolean not null default false;

-- migrate:down
