-- What waits, of the brand whose oldest request is the oldest: all of it is done in one pass. One that failed waits
-- longer each time; one whose worker died waits a minute.
with due as (
    select brand_id, id
    from erasure
    where
        state <> 'done'
        and (tried_at is null or tried_at < now() - make_interval(mins => least(60, power(2, least(failures, 6))::integer)))
        and ($1::uuid is null or brand_id = $1)
        and ($2::uuid is null or id = $2)
),

taken as (
    select brand_id, id
    from erasure
    where (brand_id, id) in (select brand_id, id from due)
        and brand_id = (
            select brand_id from erasure where (brand_id, id) in (select brand_id, id from due) order by requested_at limit 1
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
