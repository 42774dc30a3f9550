-- Every ordinal of the customers whom an identifier of kind $2 names, before and after merges: of an email or phone all who
-- were named with it. A public id is a profile_id, too.
with named as (
    select subject from identifier where brand_id = $1 and kind = $2 and value = $3::text
    union
    select subject from identifier_claim
    where brand_id = $1 and kind = $2 and value = $3::text and kind in ('email', 'phone')
    union
    select subject from customer where brand_id = $1 and $2 = 'profile_id' and id = $3::text and erased_at is null and not deleted
),

survivor as (
    select distinct coalesce(redirect.customer, named.subject) as customer
    from named
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = named.subject and not redirect.deleted
)

select customer as subject from survivor
union
select redirect.subject
from survivor
join subject_redirect as redirect
    on redirect.brand_id = $1 and redirect.customer = survivor.customer and not redirect.deleted
