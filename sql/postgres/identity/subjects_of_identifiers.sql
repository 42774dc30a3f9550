-- Per value of one kind, in the order given: the subject that holds it (0: none) and the one that stands for it now.
-- One JSON array each: rows of their own cost more to receive than to find.
select
    coalesce(json_agg(holder order by position), '[]') as holders,
    coalesce(json_agg(coalesce(redirect.customer, holder) order by position), '[]') as survivors
from (
    select given.position, coalesce(identifier.subject, named.subject, 0) as holder
    from unnest($3::text[]) with ordinality as given (value, position)
    left join identifier
        on identifier.brand_id = $1 and identifier.kind = $2 and identifier.value = given.value
    -- A public id is a profile id, too.
    left join customer named
        on $2 = 'profile_id' and named.brand_id = $1 and named.id = given.value
) held
left join subject_redirect redirect
    on redirect.brand_id = $1 and redirect.subject = holder and not redirect.deleted
