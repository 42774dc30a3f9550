-- Of brands whose turn has come and for which nothing can have changed, the segments are as good as evaluated again.
with quiet as (
    update lake_brand
    set refreshed_at = now()
    where
        coalesce(refresh_planned_at, '-infinity') < $1::timestamptz
        and now() >= $1::timestamptz + make_interval(secs => abs(hashtext(brand_id::text)) % greatest($2::integer - 60, 1))
        and coalesce(refreshed_at, '-infinity') < $1::timestamptz
        and next_change_at > now()
        and failures = 0
    returning brand_id, as_of
)

update segment
set evaluated_at = now(), last_run_at = now()
from quiet
where
    segment.brand_id = quiet.brand_id
    and status = 'active'
    and error is null
    and evaluated_at is not null
    -- One that waited for its turn then may have changed.
    and (every_minutes is null or evaluated_at >= quiet.as_of)
