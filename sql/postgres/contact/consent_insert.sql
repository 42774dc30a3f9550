-- $7: the address that it is about, where that is not the one that the contact has now; empty: it named none.
insert into contact_consent (brand_id, contact_id, channel, state, source, at, address)
select $1, id, $3, $4, $5, $6, coalesce($7, case when $3 = 'sms' then phone else email end, '')
from contact
where brand_id = $1 and id = $2
on conflict do nothing
