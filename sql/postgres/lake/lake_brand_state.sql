-- seen_tick: models and every segment were made over the sources of this tick or a later one; null before the first refresh.
select
    (select tick from lake_state) as tick,
    generation,
    cut_ticks,
    case
        when generation > 0 then least(
            refreshed_tick, models_tick,
            (select min(evaluated_tick) from segment where brand_id = $1 and status = 'active' and every_minutes is not null)
        )
    end as seen_tick,
    erasures
from lake_brand
where brand_id = $1
