-- $3: of the customer with this id, retired or not; null for all.
-- The page first: names are looked up of what is shown alone.
with named as (
    select brand_id, subject from customer where brand_id = $1 and id = $3 and erased_at is null
),

merged as (
    select redirect.subject
    from named
    join subject_redirect as redirect
        on redirect.brand_id = named.brand_id and redirect.customer = named.subject and not redirect.deleted
),

page as (
    select brand_id, id
    from merge
    where
        brand_id = $1
        and not deleted
        and (
            $3::text is null
            or from_subject in (select subject from named)
            or to_subject in (select subject from named union all select subject from merged)
        )
    order by merged_at desc, id desc
    limit $2
)

select shown.*
from page
cross join lateral (
    select id, merged_at, from_id, to_id, customer_id, evidence, undone_at, undone_by
    from merge_shown
    where merge_shown.brand_id = page.brand_id and merge_shown.id = page.id
    offset 0
) as shown
order by shown.merged_at desc, shown.id desc
