-- The contact's code of discount $2 that is good for at least another day ($5: then) and was not used; without one, a new
-- one is $4, which ends at $6. No row when somebody else has that code, or took one for the contact meanwhile.
with last as (
    select turn, code, expires_at, made_at
    from discount_code
    where brand_id = $1 and discount_id = $2 and contact_id = $3
    order by turn desc
    limit 1
),

buyer as (
    select coalesce(redirect.customer, contact.subject) as customer
    from contact
    left join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.subject = contact.subject and not redirect.deleted
    where contact.brand_id = $1 and contact.id = $3
),

theirs as (
    select customer as subject from buyer
    union
    select redirect.subject
    from buyer
    join subject_redirect as redirect
        on redirect.brand_id = $1 and redirect.customer = buyer.customer and not redirect.deleted
),

good as (
    select code, expires_at, made_at
    from last
    where
        (expires_at is null or expires_at > $5::timestamptz)
        and not exists (
            select
            from store_order, unnest(discount_codes) as used (code)
            where
                brand_id = $1
                and subject in (select theirs.subject from theirs)
                and upper(used.code) = last.code
                and not deleted
        )
),

made as (
    insert into discount_code (brand_id, discount_id, contact_id, turn, code, expires_at)
    select $1, $2, $3, coalesce((select turn from last), 0) + 1, $4, $6::timestamptz
    where not exists (select from good)
    on conflict do nothing
    returning code, expires_at, made_at
)

select code, expires_at, made_at from good
union all
select code, expires_at, made_at from made
