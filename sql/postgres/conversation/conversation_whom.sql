-- Under the customer of today.
select contact_id, customer.id as customer_id, contact.email, contact.phone
from conversation
left join contact on contact.brand_id = conversation.brand_id and contact.id = contact_id
left join subject_redirect as redirect
    on redirect.brand_id = conversation.brand_id
    and redirect.subject = coalesce(conversation.subject, contact.subject)
    and not redirect.deleted
left join customer
    on customer.brand_id = conversation.brand_id
    and customer.subject = coalesce(redirect.customer, conversation.subject, contact.subject)
    and not customer.deleted
where conversation.brand_id = $1 and conversation.id = $2
