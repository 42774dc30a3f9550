-- A contact of the customer who has the address of contact $2 on channel $3, where that is linked to nobody ($4: the address
-- that is meant, where it is not the one that it has now).
-- Step by step: else a plan may work out the contacts of every customer first.
with refusing as materialized (
    select
        brand_id,
        case when $3 = 'sms' then 'phone' else 'email' end as kind,
        coalesce($4, case when $3 = 'sms' then phone else email end) as address
    from contact
    where brand_id = $1 and id = $2 and subject is null
),

holder as materialized (
    select refusing.brand_id, held.subject, address
    from refusing
    cross join lateral (select meant_by(refusing.brand_id, refusing.kind, address) as subject offset 0) as held
    where held.subject is not null
)

select person.id, address
from holder
cross join lateral contacts_of_person(holder.brand_id, subject) as person (id)
order by person.id
limit 1
