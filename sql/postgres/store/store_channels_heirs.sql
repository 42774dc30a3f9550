-- Customers whose own record says an email or phone ($2: which, $3) while their contact has none; of several the one who was
-- described last. Whoever was named with it holds the identifier or has claimed it.
with given as (
    select distinct kind, value
    from unnest($2::text[], $3::text[]) as given (kind, value)
),

-- Each a lookup by the key: of a join all rows of the brand can be read, or as many as given for each.
named as (
    select given.kind, given.value, holder.subject
    from given
    cross join lateral (
        (
            select subject from identifier
            where brand_id = (select $1::uuid) and identifier.kind = given.kind and identifier.value = given.value
            offset 0
        )
        union
        (
            select subject from identifier_claim
            where brand_id = (select $1::uuid) and identifier_claim.kind = given.kind and identifier_claim.value = given.value
            offset 0
        )
    ) as holder
),

saying as (
    select kind, value, customer.subject, first_name, last_name, customer.updated_at
    from named
    cross join lateral (
        select * from customer
        where brand_id = (select $1::uuid) and customer.subject = named.subject
        offset 0
    ) as customer
    where
        not customer.deleted
        and case when kind = 'email' then customer.email else customer.phone end = value
        and not exists (
            select
            from contact
            where
                contact.brand_id = (select $1::uuid)
                and contact.subject = customer.subject
                and case
                    when kind = 'email' then contact.email is not null or (contact.phone is not null and not email_by_record)
                    else contact.phone is not null or (contact.email is not null and not phone_by_record)
                end
            offset 0
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
