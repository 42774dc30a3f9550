-- migrate:up

-- Nothing said it: the time zone of a contact is that of their number.
alter table contact drop column timezone;

-- migrate:down
