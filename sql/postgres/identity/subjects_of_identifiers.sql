-- Per value of one kind, in the order given: the subject that holds it (0: none) and the one that stands for it now.
-- One JSON array each: rows of their own cost more to receive than to find. Laterals with a limit are looked up by
-- index whatever the statistics say: a new table's had the planner compare all with all (50,000 values: 86 s).
select
    coalesce(json_agg(holder order by position), '[]') as holders,
    coalesce(json_agg(coalesce(redirect.customer, holder) order by position), '[]') as survivors
from (
    select given.position, coalesce(found.subject, named.subject, 0) as holder
    from unnest($3::text[]) with ordinality as given (value, position)
    left join lateral (
        select subject
        from identifier
        where brand_id = $1 and kind = $2 and value = given.value
        limit 1
    ) found on true
    -- A public id is a profile id, too.
    left join lateral (
        select subject
        from customer
        where $2 = 'profile_id' and brand_id = $1 and id = given.value
        limit 1
    ) named on true
) held
left join lateral (
    select customer
    from subject_redirect
    where brand_id = $1 and subject = held.holder and not deleted
    limit 1
) redirect on true
