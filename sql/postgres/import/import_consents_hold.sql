-- The contacts of customers ($2) and of addresses ($3), held: what one of them says changes what the others show.
select contact.id
from contact
where
    contact.brand_id = $1
    and contact.id = any(array(
        select person.id
        from unnest($2::integer[]) as given (subject)
        cross join lateral contacts_of_person($1, given.subject) as person (id)
        union
        select holder.id
        from unnest($3::text[]) as given (address)
        cross join lateral (
            select other.id from contact as other
            where other.brand_id = $1 and (other.email = given.address or other.phone = given.address)
            offset 0
        ) as holder
    ))
order by contact.id
for update of contact
