-- migrate:up

-- The lake learns which visitors a profile has; of identifiers that name a person it learns nothing here.
alter table identifier add column xid xid8 not null default pg_current_xact_id();
create index identifier_visitors_xid on identifier (xid) where kind = 'anonymous_id';

-- migrate:down
