select
    contact.email,
    contact.phone,
    (select id from customer where customer.brand_id = $1 and customer.subject = contact.subject and erased_at is null) as customer_id
from contact
where contact.brand_id = $1 and contact.id = $2
