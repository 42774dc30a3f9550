-- migrate:up

-- How often identifiers of customers whom the store removed went to others: what was resolved before may be of others now.
alter table brand add column identifiers_handed_on bigint not null default 0;

-- migrate:down

alter table brand drop column identifiers_handed_on;
