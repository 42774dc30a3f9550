-- $3: of the customer with this id, retired or not; null for all.
-- The page first: names are looked up of what is shown alone.
with named as (
    select subject from customer where brand_id = $1 and id = $3 and erased_at is null
),

page as (
    select id
    from merge
    where
        brand_id = $1
        and not deleted
        and (
            $3::text is null
            or from_subject in (select subject from named)
            or to_subject in (select subject from named)
            or to_subject in (
                select redirect.subject
                from subject_redirect as redirect
                where redirect.brand_id = $1 and redirect.customer = (select subject from named) and not redirect.deleted
            )
        )
    order by merged_at desc, id desc
    limit $2
)

select shown.*
from page
cross join lateral (
    select id, merged_at, from_id, to_id, customer_id, evidence, undone_at, undone_by
    from merge_shown
    where brand_id = $1 and merge_shown.id = page.id
    offset 0
) as shown
order by shown.merged_at desc, shown.id desc
