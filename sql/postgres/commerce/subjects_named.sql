-- Every ordinal of the customers whom an identifier of kind $2 names, before and after merges: of an email or phone all who
-- were named with it. A public id is a profile_id, too. Nothing names a customer whom the store removed.
with named as (
    select subject from identifier where brand_id = $1 and kind = $2 and value = $3::text
    union
    select subject from identifier_claim
    where brand_id = $1 and kind = $2 and value = $3::text and kind in ('email', 'phone')
    union
    select subject from customer where brand_id = $1 and $2 = 'profile_id' and id = $3::text and erased_at is null and not deleted
),

-- Materialized: joined in one step, all customers of the brand would be read.
survivor as materialized (
    select distinct coalesce(redirect.customer, named.subject) as subject
    from named
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = named.subject and not redirect.deleted
),

found as (
    select profile.subject
    from survivor
    join customer as profile on profile.brand_id = $1 and profile.subject = survivor.subject and not profile.deleted
)

select subject
from found
union
select redirect.subject
from found
join subject_redirect as redirect
    on redirect.brand_id = $1 and redirect.customer = found.subject and not redirect.deleted
