-- The contacts of those to whom subjects ($2) belong now, held: what one of them is saying meanwhile is read after it. As an
-- array: see contacts_hold.
select contact.id
from contact
where
    contact.brand_id = $1
    and contact.id = any(array(
        select person.id
        from unnest($2::integer[]) as given (subject)
        cross join lateral contacts_of_person($1, given.subject) as person (id)
    ))
order by contact.id
for no key update of contact
