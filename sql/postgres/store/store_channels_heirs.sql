-- Customers whose own record says an email ($2) or phone ($3) that is no contact's any more; of several the one who was
-- described last. Whoever was named with it holds the identifier or has claimed it.
with given as (
    select 'email' as kind, unnest($2::text[]) as value
    union
    select 'phone', unnest($3::text[])
),

named as (
    select kind, value, subject
    from given join identifier using (kind, value)
    where brand_id = $1
    union
    select kind, value, subject
    from given join identifier_claim using (kind, value)
    where brand_id = $1
),

heirs as (
    select distinct on (kind, value)
        kind, value, customer.subject, first_name, last_name
    from named
    join customer on customer.brand_id = $1 and customer.subject = named.subject
    where
        not customer.deleted
        and case when kind = 'email' then customer.email else customer.phone end = value
        and (
            case when kind = 'email' then email_by_record else phone_by_record end
            or not exists (
                select from contact
                where
                    contact.brand_id = $1
                    and contact.subject = customer.subject
                    and (contact.email is not null or contact.phone is not null)
            )
        )
        and not exists (
            select from contact
            where
                contact.brand_id = $1
                and case when kind = 'email' then contact.email = value else contact.phone = value end
        )
    order by kind, value, customer.updated_at desc, customer.subject
)

select
    subject,
    max(value) filter (where kind = 'email') as email,
    max(value) filter (where kind = 'phone') as phone,
    max(first_name) as "firstName",
    max(last_name) as "lastName"
from heirs
group by subject
order by subject
