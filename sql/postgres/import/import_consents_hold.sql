-- The contacts of customers ($2) and of addresses ($3), held: what one of them says changes what the others show.
-- `offset 0` keeps each a lookup by the key: of a brand that is newer than the statistics the planner expects one
-- row, and the value of this one is hidden from it.
select held.id
from (
    select person.id
    from unnest($2::integer[]) as given (subject)
    cross join lateral contacts_of_person($1, given.subject) as person (id)
    union
    select holder.id
    from unnest($3::text[]) as given (address)
    cross join lateral (
        (select id from contact where brand_id = (select $1::uuid) and contact.email = given.address offset 0)
        union all
        (select id from contact where brand_id = (select $1::uuid) and contact.phone = given.address offset 0)
    ) as holder
    order by id
) as wanted
cross join lateral (
    select id from contact
    where brand_id = (select $1::uuid) and contact.id = wanted.id
    offset 0
    for update
) as held
