-- Brands with enough staged rows for a file of their own, rows staged long ago, many own files, or a base that lacks columns
-- of today ($3: relation -> schema version).
-- OFFSET has the rows of a file looked up by it: those of files that are retired stay for a day, and are most by far.
with staged as (
    select lake_brand.brand_id, relation, sum(staged_rows.rows) as rows, min(lake_file.created_at) as oldest
    from lake_file
    cross join lateral (select brand_id, rows from staged_rows where file_id = lake_file.id offset 0) as staged_rows
    join lake_brand on lake_brand.brand_id = staged_rows.brand_id
    where lake_file.brand_id is null and retired_at is null and tick_hi > coalesce((cut_ticks ->> relation)::bigint, 0)
    group by lake_brand.brand_id, relation
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
