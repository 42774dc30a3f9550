-- A brand's turn comes at its own moment of the interval. It is due when data or definitions changed since its last
-- refresh, or what results are made with ($3: the models, null when there are none to read), or when it has segments
-- and a window of theirs passed a row, or when it failed, maybe with all published already: otherwise that would stand
-- in its status for good. One that failed waits until it is tried again, unless with other models; those that failed
-- three times wait for a change, too, or for an hour; that a broken model is as it was before is one. Where a campaign
-- waits for products that were looked at and left for an hour, time is a reason until that is over for all that is
-- known. A refresh that somebody else asked for, or that ended late, takes no turn. Of those that are not due and of
-- which nothing can have changed, the segments are as good as evaluated again. One whose results are not there any
-- more, as after an upgrade, is not kept waiting.
with turns as (
    select
        lake_brand.brand_id,
        refresh_ms,
        as_of,
        next_change_at > now() and failures = 0 and not is_lost as is_quiet,
        (coalesce(retry_at, '-infinity') <= now() or results ->> 'failed_recipe' <> recipe)
        and (
            is_lost
            or changed_tick > least(refreshed_tick, models_tick)
            or definitions_version > refreshed_definitions_version
            or (
                generation > 0
                and results ->> 'recipe' is distinct from recipe
                and recipe is not null
                and (failures < 3 or results ->> 'failed_recipe' is distinct from recipe)
            )
            or (failures > 0 and results ->> 'failed_recipe' <> recipe)
            or (
                (failures < 3 or failed_at < now() - interval '1 hour')
                and (
                    (failures > 0 and recipe is not null)
                    or (
                        as_of < changed_at + interval '1 hour'
                        and exists (
                            select from campaign
                            where
                                campaign.brand_id = lake_brand.brand_id
                                and status = 'active'
                                and trigger_event = 'browse_abandoned'
                        )
                    )
                    or (
                        coalesce(next_change_at, '-infinity') <= now()
                        and exists (select from segment where segment.brand_id = lake_brand.brand_id and status = 'active')
                    )
                )
            )
        ) as is_due
    from lake_brand
    inner join brand on brand.id = lake_brand.brand_id
    cross join lateral (select $3::text || ' ' || timezone || ' ' || currency_code as recipe) as recipes
    cross join lateral (
        select generation > 0 and not exists (
            select from served_generation
            where served_generation.brand_id = lake_brand.brand_id and served_generation.generation = lake_brand.generation
        ) as is_lost
    ) as losses
    where
        (
            coalesce(refresh_planned_at, '-infinity') < $1::timestamptz
            and now() >= $1::timestamptz + make_interval(secs => abs(hashtext(lake_brand.brand_id::text)::bigint) % greatest($2::integer - 60, 1))
        )
        -- Once, and after that in its turns.
        or (is_lost and coalesce(refresh_planned_at, '-infinity') <= coalesce(refreshed_at, '-infinity'))
    -- One that is just being changed is looked at a minute later.
    for no key update of lake_brand skip locked
),

quiet as (
    update lake_brand
    set refreshed_at = now(), refresh_planned_at = now()
    from turns
    where turns.brand_id = lake_brand.brand_id and is_quiet and not is_due
    returning turns.brand_id, turns.as_of
),

evaluated as (
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
)

update lake_brand
set refresh_planned_at = now(), retry_at = null
from turns
where turns.brand_id = lake_brand.brand_id and is_due
returning lake_brand.brand_id, turns.refresh_ms
