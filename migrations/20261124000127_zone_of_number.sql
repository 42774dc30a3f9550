-- migrate:up

-- Nothing said it: the time zone of a contact is that of their number. The column goes with the next version: during an
-- upgrade processes of the one before read it, and find none.
comment on column contact.timezone is 'Read by nothing: the next version drops it.';

-- migrate:down
