-- What the customer of a contact said before it was linked, by other contacts of theirs.
insert into contact_consent (brand_id, contact_id, channel, state, source, at, address)
select $1, linked.id, word.channel, word.state, word.source, word.at, word.address
from contact as linked
join contact as other on other.brand_id = $1 and other.subject = linked.subject and other.id <> linked.id
join contact_consent as word on word.brand_id = $1 and word.contact_id = other.id
where linked.brand_id = $1 and linked.id = $2
on conflict do nothing
