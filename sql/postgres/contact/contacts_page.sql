-- Ids are UUIDs of version 7: the newest contacts have the greatest ones.
-- The page first: joined before it is cut, the customers of all contacts of the brand can be looked up.
select shown.*
from (
    select id
    from contact
    where brand_id = $1 and ($2::uuid is null or id < $2::uuid)
    order by id desc
    limit $3
) as page
cross join lateral (select * from contact_shown where brand_id = $1 and contact_shown.id = page.id offset 0) as shown
order by shown.id desc
