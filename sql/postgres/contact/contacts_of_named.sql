-- Customers whom events or files named by a channel ($2, with ids for new rows in $3) get a contact, unless they have one or
-- somebody else has one of their channels.
insert into contact (brand_id, id, subject, email, phone, first_name, last_name)
select $1, given.id, customer.subject, email, phone, first_name, last_name
from unnest($2::integer[], $3::uuid[]) as given (subject, id)
cross join lateral (select * from customer where brand_id = (select $1::uuid) and customer.subject = given.subject offset 0) as customer
where provenance <> 'pixel'
    and not deleted
    and (email is not null or phone is not null)
    and not exists (select from contact where contact.brand_id = (select $1::uuid) and contact.subject = customer.subject offset 0)
order by email, phone
on conflict do nothing
