-- A contact, all of the same person, and who has the email ($3) or phone ($4), held: what one of them says changes what the
-- others show. Ids first: of a condition that joins them with "or", all contacts of the brand are read.
select id
from contact
where
    brand_id = $1
    and id = any(array(
        select $2::uuid
        union all
        select id from contact where brand_id = $1 and email = $3
        union all
        select id from contact where brand_id = $1 and phone = $4
        union all
        select person.id
        from contact as given
        cross join lateral contacts_of_person($1, given.subject) as person (id)
        where given.brand_id = $1 and given.id = $2 and given.subject is not null
    ))
order by id
for update
