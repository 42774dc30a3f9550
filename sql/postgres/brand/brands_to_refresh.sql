-- A brand's turn comes at its own moment of the interval. It is due when data or definitions changed since its last
-- refresh, or what results are made with ($3: the models, null when they cannot be read), or when it has segments and
-- a window of theirs passed a row. Brands that failed three times wait for a change.
with recipes as (
    select id, $3::text || ' ' || timezone || ' ' || currency_code as recipe
    from brand
)

update lake_brand
set refresh_planned_at = now()
from recipes
where
    recipes.id = brand_id
    and coalesce(refresh_planned_at, '-infinity') < $1::timestamptz
    and now() >= $1::timestamptz + make_interval(secs => abs(hashtext(brand_id::text)) % greatest($2::integer - 60, 1))
    and coalesce(refreshed_at, '-infinity') < $1::timestamptz
    and (
        changed_tick > least(refreshed_tick, models_tick)
        or definitions_version > refreshed_definitions_version
        or (
            generation > 0
            and results ->> 'recipe' is distinct from recipe
            and recipe is not null
            and (failures < 3 or results ->> 'failed_recipe' is distinct from recipe)
        )
        or (
            failures < 3
            and coalesce(next_change_at, '-infinity') <= now()
            and exists (select from segment where segment.brand_id = lake_brand.brand_id and status = 'active')
        )
    )
returning brand_id, refresh_ms
