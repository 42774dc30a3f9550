select
    (select tick from lake_state) as tick,
    generation,
    cut_ticks,
    erasures
from lake_brand
where brand_id = $1
