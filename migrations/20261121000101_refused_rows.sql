-- migrate:up

-- What is refused of a chunk may be good later: another region makes a phone number of its digits, a time comes.
alter table import_chunk add column refused bigint[] not null default '{}';

-- migrate:down
