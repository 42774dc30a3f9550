-- One that a contact begins. $5: when.
insert into conversation (brand_id, id, contact_id, subject, channel, last_message_at, created_at, updated_at)
select $1, $2, contact.id, contact.subject, $4, $5, $5, $5
from contact
where contact.brand_id = $1 and contact.id = $3
