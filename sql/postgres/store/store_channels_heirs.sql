-- Customers whose own record says an email or phone ($2: which, $3) while their contact has none; of several the one who was
-- described last. Whoever was named with it holds the identifier or has claimed it.
with given as (
    select distinct kind, value
    from unnest($2::text[], $3::text[]) as given (kind, value)
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

saying as (
    select kind, value, customer.subject, first_name, last_name, customer.updated_at
    from named
    join customer on customer.brand_id = $1 and customer.subject = named.subject
    where
        not customer.deleted
        and case when kind = 'email' then customer.email else customer.phone end = value
        and not exists (
            select from contact
            where
                contact.brand_id = $1
                and contact.subject = customer.subject
                and case
                    when kind = 'email' then contact.email is not null or (contact.phone is not null and not email_by_record)
                    else contact.phone is not null or (contact.email is not null and not phone_by_record)
                end
        )
),

heirs as (
    select distinct on (kind, value) kind, value, subject, first_name, last_name
    from saying
    order by kind, value, updated_at desc, subject
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
