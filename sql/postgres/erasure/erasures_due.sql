-- What waits, of one brand, is done in one pass. Brands take turns: a shop of a million customers that is erased has a
-- thousand passes. One that failed waits longer each time, but not for what a backup put off once it needs no file any more;
-- one whose worker died waits a minute.
with due as (
    select brand_id, id, requested_at
    from erasure
    where
        state <> 'done'
        and (
            tried_at is null
            or tried_at < now() - make_interval(mins => least(60, power(2, least(failures, 6))::integer))
            or (
                state = 'failed'
                and tried_at < (select removal_paused_until from lake_state where removal_paused_until <= now())
            )
        )
        and ($1::uuid is null or brand_id = $1)
        and ($2::uuid is null or id = $2)
),

taken as (
    select brand_id, id
    from erasure
    where (brand_id, id) in (select brand_id, id from due)
        and brand_id = (
            select waiting.brand_id
            from (select brand_id, min(requested_at) as since from due group by brand_id) as waiting
            left join (select brand_id, max(tried_at) as at from erasure group by brand_id) as tried using (brand_id)
            order by tried.at nulls first, waiting.since
            limit 1
        )
    order by requested_at
    limit $3
    for update skip locked
)

update erasure set tried_at = now()
from taken
where erasure.brand_id = taken.brand_id and erasure.id = taken.id
returning
    erasure.brand_id, erasure.id, erasure.requested_by, erasure.requested_at,
    coalesce(erasure.whom @> '{"everybody": true}', false) as everybody
