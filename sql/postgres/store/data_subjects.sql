-- Everybody who is the one that these identifiers name: the holders, their survivors, and all that these absorbed.
with holder as (
    select subject
    from identifier
    where
        brand_id = $1
        and (kind, value) in (('store_customer_id', $2::text), ('email', $3::text), ('phone', $4::text))
),

survivor as (
    select coalesce(redirect.customer, holder.subject) as subject
    from holder
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = holder.subject and not redirect.deleted
)

select subject
from survivor
union
select subject_redirect.subject
from subject_redirect
join survivor on survivor.subject = subject_redirect.customer
where subject_redirect.brand_id = $1 and not subject_redirect.deleted
