-- What a session pins, by one statement and so as of one instant: the brand's own files and the shared ones with rows
-- that it has not cut out yet. seen_tick: models and every segment were made over the sources of this tick or a later
-- one; null before the first refresh.
select
    (select tick from lake_state) as tick,
    generation,
    cut_ticks,
    case
        when generation > 0 then least(
            refreshed_tick, models_tick,
            (select min(evaluated_tick) from segment where brand_id = $1 and status = 'active' and error is null)
        )
    end as seen_tick,
    changed_tick,
    erasures,
    (
        select coalesce(jsonb_agg(to_jsonb(own) order by relation, tick_lo, id), '[]')
        from (
            select id, brand_id, relation, path, level, schema_version, rows, bytes, tick_lo, tick_hi, created_at
            from lake_file
            where brand_id = $1 and retired_at is null
        ) as own
    ) as files,
    (
        select coalesce(jsonb_agg(to_jsonb(shared) order by relation, tick_lo, id), '[]')
        from (
            select
                lake_file.id, null as brand_id, relation, path, level, schema_version, staged_rows.rows, bytes, tick_lo,
                tick_hi, created_at
            from staged_rows
            join lake_file on lake_file.id = file_id
            where staged_rows.brand_id = $1
                and retired_at is null
                and tick_hi > coalesce((cut_ticks ->> relation)::bigint, 0)
        ) as shared
    ) as staged
from lake_brand
where brand_id = $1
