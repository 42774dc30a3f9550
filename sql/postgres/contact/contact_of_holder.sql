-- A contact of the customer who has the address of contact $2 on channel $3, where that is linked to nobody ($4: the address
-- that is meant, where it is not the one that it has now).
select person.id, identifier.value as address
from contact
join identifier
    on identifier.brand_id = contact.brand_id
    and identifier.kind = case when $3 = 'sms' then 'phone' else 'email' end
    and identifier.value = coalesce($4, case when $3 = 'sms' then contact.phone else contact.email end)
cross join lateral contacts_of_person(contact.brand_id, identifier.subject) as person (id)
where contact.brand_id = $1 and contact.id = $2 and contact.subject is null
order by person.id
limit 1
