-- Under the customer of today.
select contact_id, customer.id as customer_id, contact.email, contact.phone
from conversation
left join contact on contact.brand_id = conversation.brand_id and contact.id = contact_id
cross join lateral survivor_of(conversation.brand_id, coalesce(conversation.subject, contact.subject)) as survivor
left join customer
    on customer.brand_id = conversation.brand_id and customer.subject = survivor.subject and not customer.deleted
where conversation.brand_id = $1 and conversation.id = $2
