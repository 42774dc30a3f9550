-- A contact, all of the same person, and who has the address ($3: sms or email, $4; empty: none), held: what one of them
-- says changes what the others show.
select contact.id
from contact
where
    contact.brand_id = $1
    and contact.id in (
        select $2::uuid
        union
        select person.id
        from contact as given
        cross join lateral contacts_of_person($1, given.subject) as person (id)
        where given.brand_id = $1 and given.id = $2 and given.subject is not null
        union
        select holder.id from contact as holder where holder.brand_id = $1 and $3 = 'email' and holder.email = nullif($4, '')
        union
        select holder.id from contact as holder where holder.brand_id = $1 and $3 = 'sms' and holder.phone = nullif($4, '')
    )
order by contact.id
for update of contact
