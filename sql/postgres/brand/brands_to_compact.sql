-- Brands with enough staged rows for a file of their own, rows staged long ago, many own files, or a base that lacks columns
-- of today ($3: relation -> schema version).
with staged as (
    select staged_rows.brand_id, relation, sum(staged_rows.rows) as rows, min(lake_file.created_at) as oldest
    from staged_rows
    join lake_file on lake_file.id = file_id
    join lake_brand on lake_brand.brand_id = staged_rows.brand_id
    where retired_at is null and tick_hi > coalesce((cut_ticks ->> relation)::bigint, 0)
    group by staged_rows.brand_id, relation
),

crowded as (
    select brand_id
    from lake_file
    where brand_id is not null and retired_at is null
    group by brand_id, relation, level
    having count(*) >= 12 or (level = 0 and relation not in ('events', 'member_changes', 'served'))
),

outdated as (
    select brand_id
    from lake_file
    where brand_id is not null and retired_at is null and level > 0 and schema_version < ($3::text::jsonb ->> relation)::integer
)

update lake_brand
set compact_planned_at = now()
where
    coalesce(compact_planned_at, '-infinity') < now() - interval '5 minutes'
    and (
        brand_id in (select brand_id from staged where rows >= $1 or oldest < now() - make_interval(hours => $2))
        or brand_id in (select brand_id from crowded)
        or brand_id in (select brand_id from outdated)
    )
returning brand_id, refresh_ms
