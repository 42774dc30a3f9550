-- All that names these subjects, wherever it is written; not what somebody else holds, nor what only a page said: anyone
-- can forge that, and who has the address must not lose what comes of them.
with named as (
    select kind, value from identifier where brand_id = $1 and subject = any($2::integer[])
    union
    select kind, value from identifier_claim where brand_id = $1 and subject = any($2::integer[])
    union
    select kind, value
    from customer
    cross join lateral (
        values
        ('profile_id', id), ('profile_id', profile_id), ('store_customer_id', store_customer_id), ('email', email), ('phone', phone)
    ) as own (kind, value)
    where brand_id = $1 and subject = any($2::integer[])
    union
    select kind, value
    from contact
    cross join lateral (values ('email', email), ('phone', phone)) as own (kind, value)
    where brand_id = $1 and subject = any($2::integer[])
    union
    select kind, value
    from store_order
    cross join lateral (values ('email', lower(btrim(email))), ('phone', phone)) as own (kind, value)
    where brand_id = $1 and subject = any($2::integer[])
)

select kind, value
from named
where value is not null
    and not exists (
        select
        from identifier
        where identifier.brand_id = $1
            and identifier.kind = named.kind
            and identifier.value = named.value
            and subject <> all ($2::integer[])
    )
order by kind, value
