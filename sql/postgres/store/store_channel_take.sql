-- Takes an email ($2) or phone ($3) from the contact of nobody, or of a customer that the store removed, for a customer
-- ($4), whose contacts get what was said about it. What is left of a contact of nobody without any is the customer's, too.
with held as (
    select contact.id
    from contact
    left join customer on customer.brand_id = $1 and customer.subject = contact.subject
    where
        contact.brand_id = $1
        and (contact.email = $2 or contact.phone = $3)
        and (contact.subject is null or customer.deleted)
),

words as (
    insert into contact_consent (brand_id, contact_id, channel, state, source, at, address)
    select $1, theirs.id, word.channel, word.state, word.source, word.at, word.address
    from held
    join contact_consent as word on word.brand_id = $1 and word.contact_id = held.id and word.address in ($2, $3)
    join contact as theirs on theirs.brand_id = $1 and theirs.subject = $4
    on conflict do nothing
)

update contact
set
    subject = case
        when coalesce(nullif(contact.email, $2), nullif(contact.phone, $3)) is null then coalesce(contact.subject, $4)
        else contact.subject
    end,
    email = nullif(contact.email, $2),
    phone = nullif(contact.phone, $3),
    updated_at = now()
from held
where contact.brand_id = $1 and contact.id = held.id
