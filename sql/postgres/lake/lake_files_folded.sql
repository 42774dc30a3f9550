-- What was folded into these files: retired by the transaction that published them, which one instant stamps.
select
    folded.id, folded.brand_id, folded.relation, folded.path, folded.level, folded.schema_version, folded.rows, folded.bytes,
    folded.tick_lo, folded.tick_hi, folded.created_at
from lake_file as base
join lake_file as folded
    on folded.retired_at = base.created_at and folded.brand_id = base.brand_id and folded.relation = base.relation
where base.id = any($1::bigint[])
