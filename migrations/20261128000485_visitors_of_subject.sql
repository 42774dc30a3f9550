-- migrate:up transaction:false

-- The index of identifiers by subject has them, too.
drop index concurrently if exists identifier_visitors_subject;

-- migrate:down
