-- What a generation is read from: the newest, or an earlier one that cursors may still walk.
select
    served_generation.generation, base_path, changes_path, members_path,
    models_base_path, models_changes_path, models_sums_path
from served_generation
join lake_brand using (brand_id)
where
    brand_id = $1
    and (
        served_generation.generation = lake_brand.generation
        or served_generation.generation = $2::bigint and replaced_at > now() - interval '24 hours'
    )
order by served_generation.generation = $2::bigint desc nulls last
limit 1
