-- The contact's code of discount $2 that was not used and is good for at least half of its days ($5: then); without one, a new
-- one is $4, which ends at $6. No row when somebody else has that code, or took one for the contact meanwhile.
with last as (
    select turn, code, expires_at, made_at, used_at
    from discount_code
    where brand_id = $1 and discount_id = $2 and contact_id = $3
    order by turn desc
    limit 1
),

good as (
    select code, expires_at, made_at
    from last
    where used_at is null and (expires_at is null or expires_at > $5::timestamptz)
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
