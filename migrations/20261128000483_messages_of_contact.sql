-- migrate:up transaction:false

-- An erasure takes the messages of a contact, in either direction, and the contact may go once none names it: without this
-- each erasure read all messages of the brand, twice. Built while messages come and go.
create index concurrently if not exists message_of_contact on message (brand_id, contact_id) where contact_id is not null;

-- migrate:down
