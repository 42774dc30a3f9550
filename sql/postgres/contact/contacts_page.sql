-- Ids are UUIDs of version 7: the newest contacts have the greatest ones.
select
    contact.id,
    contact.email,
    contact.phone,
    contact.first_name,
    contact.last_name,
    customer.id as customer_id,
    contact.sms_consent,
    contact.email_consent,
    contact.created_at,
    contact.updated_at
from contact
left join subject_redirect as redirect
    on redirect.brand_id = contact.brand_id and redirect.subject = contact.subject and not redirect.deleted
left join customer
    on customer.brand_id = contact.brand_id and customer.subject = coalesce(redirect.customer, contact.subject) and not customer.deleted
where contact.brand_id = $1 and ($2::uuid is null or contact.id < $2::uuid)
order by contact.id desc
limit $3
