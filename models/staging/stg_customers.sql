-- what: every profile of the brand, visitors included, as it is now; merged profiles appear as their survivor
-- grain: customer
-- refresh: at every read

-- Identity is not limited to as_of: a later merge, name or address belongs to the same person. An imported
-- profile is created at import, long after the orders that it explains.
-- A row of the source says what was said of that profile itself, so that a merge can be undone. The survivor's own
-- word counts first, then that of the oldest who has one. Visitors add nothing: what a browser says proves nothing.
with absorbed as (
    select
        redirect.customer as subject,
        first(profile.email order by profile.subject) filter (profile.email is not null) as email,
        first(profile.phone order by profile.subject) filter (profile.phone is not null) as phone,
        first({ 'first': profile.first_name, 'last': profile.last_name } order by profile.subject)
            filter (coalesce(profile.first_name, profile.last_name) is not null) as name,
        flatten(list(profile.tags)) as tags,
        flatten(
            list([
                profile.email,
                profile.phone,
                concat_ws(' ', profile.first_name, profile.last_name),
                profile.customer_id,
                profile.store_customer_id
            ] order by profile.subject)
        ) as aliases,
        min(profile.created_at) as created_at,
        max(profile.updated_at) as updated_at
    from subject_redirect as redirect
    inner join customers_source as profile using (subject)
    where profile.provenance is distinct from 'pixel'
    group by redirect.customer
)

select
    profile.subject as customer,
    profile.customer_id,
    profile.store_customer_id,
    coalesce(profile.email, absorbed.email) as email,
    coalesce(profile.phone, absorbed.phone) as phone,
    coalesce(profile.first_name, case when profile.last_name is null then absorbed.name.first end) as first_name,
    coalesce(profile.last_name, case when profile.first_name is null then absorbed.name.last end) as last_name,
    case
        when absorbed.tags is null then coalesce(profile.tags, [])
        else list_sort(list_distinct(coalesce(profile.tags, []) || absorbed.tags))
    end as tags,
    -- What the profiles that it absorbed are found by, oldest first; null where there are none.
    list_filter(absorbed.aliases, lambda alias: alias != '') as aliases,
    case when absorbed.subject is null then profile.provenance else 'merged' end as provenance,
    least(profile.created_at, absorbed.created_at) as created_at,
    greatest(profile.updated_at, absorbed.updated_at) as updated_at
from customers_source as profile
anti join subject_redirect using (subject)
left join absorbed using (subject)
