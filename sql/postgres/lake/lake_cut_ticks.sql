select brand_id, (cut_ticks ->> $1::text)::bigint as tick
from lake_brand
where cut_ticks ? $1::text
