-- Channels of the contacts of customers that the store removed. $2: store customer ids.
select contact.email, contact.phone
from customer
join contact on contact.brand_id = $1 and contact.subject = customer.subject
where customer.brand_id = $1 and customer.store_customer_id = any($2::text[]) and customer.deleted
