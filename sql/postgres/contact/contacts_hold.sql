-- A contact, all of the same person, and who has the email ($3) or phone ($4), held: what one of them says changes what the
-- others show. The person's as an array: with "in" no index answers, and all contacts of the brand are read.
select contact.id
from contact
where
    contact.brand_id = $1
    and (
        contact.id = $2
        or contact.email = $3
        or contact.phone = $4
        or contact.id = any(array(
            select person.id
            from contact as given
            cross join lateral contacts_of_person($1, given.subject) as person (id)
            where given.brand_id = $1 and given.id = $2 and given.subject is not null
        ))
    )
order by contact.id
for update of contact
