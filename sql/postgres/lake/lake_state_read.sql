select
    tick,
    exported_below::text,
    erasures,
    (select coalesce(sum(identifiers_handed_on), 0)::integer from brand) as handed_on,
    attempted_bytes,
    pg_snapshot_xmin(pg_current_snapshot())::text as horizon
from lake_state
