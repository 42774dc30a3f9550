-- migrate:up

-- The definition that a delivery was held against: it may be called otherwise when the letter is replayed.
alter table dead_letter add column definition_id uuid;

-- migrate:down
