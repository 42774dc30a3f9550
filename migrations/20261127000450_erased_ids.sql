-- In files of their own, so that none holds up contacts and deliveries for long: the next fill the column, and check it.

-- migrate:up

-- In place of an id that a sender chose and that may name whom it is about: repeats are told by it. Null before the first
-- erasure.
create function erased_id(brand uuid, id text) returns text
language sql stable
return 'erased:' || encode(tombstone_hash(brand, 'event_id', id), 'hex');

-- Whom it told of.
alter table custom_delivery add column contact_id uuid;

-- migrate:down
