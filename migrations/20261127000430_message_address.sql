-- migrate:up

-- Where it went to: a yes by its link to get no more is about that address, not about the one that the contact has by then.
alter table message add column address text;

update message
set address = case channel when 'sms' then contact.phone else contact.email end
from contact
where contact.brand_id = message.brand_id and contact.id = message.contact_id and message.sent_at is not null;

-- migrate:down

alter table message drop column address;
