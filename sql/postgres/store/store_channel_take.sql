-- Takes an email or phone ($2, $3) from the contact of nobody, or of a customer that the store removed, for a customer ($4),
-- whose contacts get what was said about it.
with held as (
    select contact.id
    from contact
    left join customer on customer.brand_id = $1 and customer.subject = contact.subject
    where
        contact.brand_id = $1
        and (contact.email = case when $2 = 'email' then $3 end or contact.phone = case when $2 = 'phone' then $3 end)
        and (contact.subject is null or customer.deleted)
),

words as (
    insert into contact_consent (brand_id, contact_id, channel, state, source, at, address)
    select $1, theirs.id, word.channel, word.state, word.source, word.at, word.address
    from held
    join contact_consent as word on word.brand_id = $1 and word.contact_id = held.id and word.address = $3
    join contact as theirs on theirs.brand_id = $1 and theirs.subject = $4
    on conflict do nothing
)

update contact
set
    email = case when $2 = 'email' then null else contact.email end,
    phone = case when $2 = 'phone' then null else contact.phone end,
    updated_at = now()
from held
where contact.brand_id = $1 and contact.id = held.id
