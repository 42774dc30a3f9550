-- The newest open conversation with whoever has an address ($3: email, $4: phone) on channel $2.
select conversation.id, run_id, contact_id
from conversation
join contact on contact.brand_id = conversation.brand_id and contact.id = contact_id
where
    conversation.brand_id = $1
    and channel = $2
    and conversation.status = 'open'
    and not conversation.deleted
    and (contact.email = $3 or contact.phone = $4)
order by conversation.created_at desc, conversation.id desc
limit 1
