-- Every ordinal of the customers whom an identifier of kind $2 names, before and after merges: of an email or phone all who
-- were named with it. A public id is a profile_id, too. Nothing names a customer whom the store removed.
with named as (
    select brand_id, subject from identifier where brand_id = $1 and kind = $2 and value = $3::text
    union
    select brand_id, subject from identifier_claim
    where brand_id = $1 and kind = $2 and value = $3::text and kind in ('email', 'phone')
    union
    select brand_id, subject from customer
    where brand_id = $1 and $2 = 'profile_id' and id = $3::text and erased_at is null and not deleted
),

-- Materialized: joined in one step, all customers of the brand would be read.
survivor as materialized (
    select distinct named.brand_id, coalesce(redirect.customer, named.subject) as subject
    from named
    left join subject_redirect as redirect
        on redirect.brand_id = named.brand_id and redirect.subject = named.subject and not redirect.deleted
),

found as (
    select survivor.*
    from survivor
    join customer as profile using (brand_id, subject)
    where not profile.deleted
)

select subject
from found
union
select redirect.subject
from found
join subject_redirect as redirect
    on redirect.brand_id = found.brand_id and redirect.customer = found.subject and not redirect.deleted
